"""What a run that was bundled too early lacks, in words."""

from ...records.rows import grouped
from ..bundle import Bundle
from .whole import lacking_blocks, left_out, left_out_beside_others


def unfinished(bundle: Bundle) -> list[str]:
    """What the run of a bundle has not measured yet, empty if it came to its end. Where all that has a record is whole, the other
    comparisons may be those of other shards."""
    blocks = grouped(
        bundle.records, lambda record: (record.set, record.case_id, record.done_key)
    ).values()
    interrupted = sum(record.status == "interrupted" for record in bundle.records)
    lacking = sum(bool(lacking_blocks(same)) for same in blocks)
    if not (interrupted or lacking or left_out_beside_others(bundle)):
        return []
    counted = {
        "planned cases have no record": len(left_out(bundle)),
        "records are of cases that were interrupted": interrupted,
        "cases lack a block": lacking,
    }
    return [f"{count} {words}" for words, count in counted.items() if count]
