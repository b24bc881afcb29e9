"""The kinds of values in records and in workers' answers, and the function that reads a document of
a kind.

Kinds are strict: a text is no number, and no number is infinite. Integers are valid floats, as JSON
writes them.
"""

import marshal
import re
from contextlib import suppress
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NotRequired,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic_core import from_json
from typing_extensions import TypedDict

from ..common.mistakes import LARGEST_SIZE, hexadecimal, shown, wanted
from ..common.texts import anonymous, clean, cut
from ..core.breakdown import KINDS, STAGES
from ..core.case import PHASES
from ..core.status import PARTS, STATUSES
from ..core.text_limits import LONGEST_TEXT

if TYPE_CHECKING:
    Status = str
    Phase = str
    PartName = str
    Memory = str
    Rate = str
    StepStage = str
    MemoryKind = str
else:  # a type checker cannot read a Literal that is computed
    Status, Phase, PartName = Literal[STATUSES], Literal[PHASES], Literal[PARTS]
    StepStage, MemoryKind = Literal[STAGES], Literal[KINDS]
    Memory, Rate = (
        Literal["peak_bytes", "extra_bytes", "reserved_bytes", "kept_bytes"],
        Literal["flops_per_s", "bytes_per_s"],
    )

LARGEST_FILE = 1 << 26
"""Bytes of a document."""
MOST_TEXTS = 100
"""Texts of a list."""
MOST_LEVELS = 201
"""Levels of nesting of a document: pydantic's parser reads no more, however deep the stack is."""

WRITTEN = {"written": True}
"""Validation context in which texts lose names of the user and the machine."""

Kind = TypeVar("Kind")


def _harmless(value: Any, info: ValidationInfo) -> Any:
    if not isinstance(value, str):
        return value
    text = value if value.isascii() and value.isprintable() else clean(value)
    text = anonymous(text) if info.context is WRITTEN else text
    return text if len(text) <= LONGEST_TEXT else cut(text, LONGEST_TEXT)


def _shared(value: Any, understand: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
    """Validates a field's value once, because thousands of records have the same; each gets a
    copy."""
    if info.context is not None:
        return understand(value)
    try:
        key = info.field_name, marshal.dumps(value, 2)
    except ValueError:
        return understand(value)
    if key in _UNDERSTOOD:
        return marshal.loads(_UNDERSTOOD[key])
    understood = understand(value)
    if len(_UNDERSTOOD) < MOST_SHARED:
        _UNDERSTOOD[key] = marshal.dumps(understood, 2)
    return understood


_UNDERSTOOD: dict[tuple[str | None, bytes], bytes] = {}
MOST_SHARED = 1000
SHARED = WrapValidator(_shared)


Text = Annotated[str, Field(strict=True), BeforeValidator(_harmless)]
"""A text for people, without control characters and, once written, without names of the user and
the machine."""
Label = Annotated[Text, Field(min_length=1, max_length=200)]
Texts = Annotated[list[Text], Field(max_length=MOST_TEXTS)]
Name = Annotated[
    str, Field(strict=True, max_length=200, pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.+@-]*$")
]
"""A text that may be part of a file's name."""
SetName = Annotated[Name, BeforeValidator(_harmless)]
CaseId = Annotated[str, Field(strict=True, pattern=hexadecimal(16))]
DoneKey = Annotated[str, Field(strict=True, pattern=hexadecimal(12))]
LiveSet = Annotated[str, Field(strict=True, pattern=hexadecimal(12))]
Count = Annotated[int, Field(strict=True, ge=0, lt=1 << 31)]
Size = Annotated[int, Field(strict=True, gt=0, le=LARGEST_SIZE)]
Bytes = Annotated[int, Field(strict=True, ge=0, lt=1 << 60)]
Time = Annotated[float, Field(strict=True, ge=1e-12, lt=1e9, allow_inf_nan=False)]
"""Seconds of a timed thing: a picosecond to thirty years."""
Seconds = Annotated[float, Field(strict=True, ge=0, lt=1e9, allow_inf_nan=False)]
Number = Annotated[float, Field(strict=True, gt=-1e30, lt=1e30, allow_inf_nan=False)]
Finite = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Positive = Annotated[float, Field(strict=True, gt=0, lt=1e30, allow_inf_nan=False)]
"""A rate or a factor."""
Share = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]
OMIT_NONE = Field(exclude_if=lambda value: value is None)
"""For fields that are written only if they are known."""


def parsed(content: bytes) -> Any:
    """Returns the value of a JSON text. Raises ValueError with a sentence for anything else, and
    for nesting of more than MOST_LEVELS levels."""
    try:
        return from_json(content, allow_inf_nan=False)
    except ValueError as error:
        raise ValueError(_no_json(str(error))) from None


def _no_json(message: str) -> str:
    """Returns the parser's message in words, with its place."""
    if "recursion limit" in message:
        return f"it is nested more than {MOST_LEVELS} levels deep"
    place = re.search(r"at line (\d+) column (\d+)", message)
    where = f" (line {place[1]}, column {place[2]})" if place else ""
    return f"it is no JSON{': it ends too soon' * ('EOF' in message)}{where}"


def understood(kind: TypeAdapter[Kind], content: Any) -> Kind:
    """Returns `content`, bytes of JSON or parsed values, as that kind.

    Raises ValueError with one sentence on the first fault: where it is, and what would be right.
    """
    try:
        return (
            kind.validate_json(content)
            if isinstance(content, bytes)
            else kind.validate_python(content)
        )
    except ValidationError as error:
        raise ValueError(fault(error)) from None


def fault(error: ValidationError) -> str:
    """Returns the first of pydantic's errors in words, shortened."""
    first = error.errors(include_url=False)[0]
    place, kind = anonymous(".".join(map(str, first["loc"])))[:100], first["type"]
    if kind in ("dict_type", "model_type") and not place:
        return "it must be an object, in braces"
    if kind == "json_invalid":
        text = _no_json(first["msg"])
    elif kind == "value_error" or not place:
        text = f"{place}: " * bool(place) + first["msg"].removeprefix("Value error, ")
    elif kind in ("missing", "extra_forbidden"):
        text = f"{place} is {'missing' if kind == 'missing' else 'unknown'}"
    else:
        text = f"{place} = {shown(first['input'])}: {wanted(dict(first))}"
    return str(anonymous(clean(text)))[:300]


def valid_parts(kind: type, path: Path) -> dict[str, Any]:
    """Returns the valid fields of the JSON document in a file, of a TypedDict, and the valid items
    of its lists; nothing of a file without an object."""
    try:
        values = from_json(path.read_bytes())
    except (OSError, ValueError):
        return {}
    parts: dict[str, Any] = {}
    fields = get_type_hints(kind, include_extras=True) if isinstance(values, dict) else {}
    for name, field in fields.items():
        is_list = get_origin(field) is list and isinstance(values.get(name), list)
        item = TypeAdapter(get_args(field)[0] if is_list else field)
        valid = []
        for value in values[name] if is_list else [values[name]] if name in values else []:
            with suppress(ValueError):
                valid.append(understood(item, value))
        if valid:
            parts[name] = valid if is_list else valid[0]
    return parts


def read_as(kind: TypeAdapter[Kind], path: Path) -> Kind:
    """Returns the JSON document in a file. Raises OSError, or ValueError with a sentence that
    does not name the file."""
    if not path.is_file():
        raise ValueError("it is no file")  # a pipe would never end
    if path.stat().st_size > LARGEST_FILE:
        raise ValueError(f"it is larger than {LARGEST_FILE >> 20} MiB")
    return understood(kind, path.read_bytes())


Ceilings = dict[Rate, Positive | None]


class RecordedAdapter(TypedDict):
    name: Text
    version: Text | None
    reference: Text
    source_sha256: Text | None
    closure: NotRequired[dict[Text, Text]]


class RecordedImage(TypedDict):
    name: Text
    digest: Text


class RecordedEnvironment(TypedDict):
    """The content of an environment's file; a record has `variables` in place of the `packages`."""

    name: Name
    hash: Name
    python: Text
    devices: list[Text]
    image: NotRequired[RecordedImage]
    packages: NotRequired[dict[Text, Text]]
    variables: NotRequired[dict[Text, Text]]


class Gpu(TypedDict):
    name: Text
    memory_bytes: Bytes | None
    driver: Text


class Machine(TypedDict):
    """The machine. Its `hash` covers what timings depend on. `node` identifies the machine as
    long as `node_of` stays the same: a `boot_id` until the next reboot."""

    cpu: Text
    usable_threads: Count
    memory_bytes: Bytes
    gpus: list[Gpu]
    hash: Name
    cores: NotRequired[Count | None]
    threads: NotRequired[Count | None]
    system: NotRequired[Text]
    kernel: NotRequired[Text]
    container: NotRequired[bool]
    node: NotRequired[Name]
    node_of: NotRequired[Name]


class Settings(TypedDict):
    """The table `measure` of a config, as records of any version have it; see
    `experiment/measure.py`. Settings that were added later may be missing."""

    blocks: Count
    passes: Count
    slot: Seconds
    timeout: Seconds
    host_memory: Bytes
    threads: Count
    most_blocks: NotRequired[Count]
    phase_blocks: NotRequired[Count | None]
    budget: NotRequired[Seconds]
    phases: NotRequired[list[Phase]]
    rank_by: NotRequired[Phase]
    leave_beyond: NotRequired[Seconds]
    timed: NotRequired[bool]


def _of_equal_length(readings: dict[str, list[float]]) -> dict[str, list[float]]:
    lengths = {*map(len, readings.values())}
    if readings and ("at" not in readings or len(lengths) > 1 or 0 in lengths):
        raise ValueError("must have lists of equal length, and their times as `at`")
    return readings


class Monitored(TypedDict, total=False):
    """What the machine did meanwhile; see `machine/monitor.py`."""

    null_s: Seconds | None
    load_average: Seconds
    foreign_cores: Seconds
    throttle_reasons: Annotated[int, Field(ge=0, lt=1 << 64)]
    watched: Annotated[dict[Label, list[Number]], AfterValidator(_of_equal_length)]
    canary: list[Time | None]


class RecordedStage(TypedDict):
    """One judged problem of a proof."""

    name: Text
    passed: bool
    findings: list[Text]
    errors: dict[Text, Finite | None]
    allowed: NotRequired[dict[Text, Finite]]
    wrong_decisions: Finite | None
    grad_error: Finite | None
    firing_rate: Finite | None
    distance: NotRequired[Finite | None]
    time_steps: NotRequired[Size]
    batch: NotRequired[Size]
    neurons: NotRequired[Size | None]
    precision: NotRequired[Text]
    input: NotRequired[Text]


class RecordedProof(TypedDict):
    """The judge's verdict by stage. `loosened`: the rules, in words, by which less was asked."""

    passed: bool
    reason: NotRequired[Text | None]
    stages: list[RecordedStage]
    loosened: NotRequired[list[Text]]
    gains: NotRequired[list[Finite]]
    oracle_rates: NotRequired[list[Finite]]
    work: NotRequired[dict[Label, Bytes]]
    weights: NotRequired[Text]
