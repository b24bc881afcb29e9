"""A comparison group in sentences: they say what the numbers say, and no more."""

from support.synthetic import blocks, disturbed, record, unmeasured

from snnbench.records.rows import rows_of
from snnbench.report.answer import answer

NOISE = 0.004


def told(records) -> str:
    return "\n".join(answer(rows_of(records)))


def left(framework, step):
    one = record(framework, step=step)
    one.timing("step").beyond = 2.0
    one.timing("step").slots = one.timing("step").slots[:1]
    return one


def test_the_fastest_by_how_much_with_what_memory_and_how_sure():
    records = [
        *blocks("jax", step=0.002, noise=NOISE),
        *blocks("norse", step=0.0031, noise=NOISE),
        left("rockpool", 0.05),
    ]
    fastest, next_one, gone, sure = answer(rows_of(records))
    assert (
        fastest.startswith("The fastest is jax: 2.0")
        and " ms a step (" in fastest
        and fastest.endswith("of memory.")
    )
    assert (
        next_one.startswith("norse takes 1.5")
        and "times as long, with 2.00 MiB of memory" in next_one
    )
    assert gone == "Stopped early because they take more than 2 times as long: rockpool."
    assert sure.startswith(
        "How sure: 95 % intervals over 3 blocks of fresh processes; with a fixed number of blocks"
    )


def test_equals_are_not_decided():
    text = told(
        [*blocks("torch", step=0.002, noise=NOISE), *blocks("norse", step=0.002, noise=NOISE)]
    )
    assert (
        text.startswith("Not decided: ")
        and "is not shown to be faster than" in text
        and "The fastest is" not in text
    )


def test_the_leanest_is_named_only_of_figures_with_the_same_meaning():
    def weighing(framework, step, size):
        records = blocks(framework, step=step, noise=NOISE)
        records[0].memory = {"step": {**records[0].memory["step"], "peak_bytes": size}}
        return records

    torch, lean = weighing("torch", 0.002, 4 << 20), weighing("norse", 0.003, 1 << 20)
    assert "norse needs the least memory: 1.00 MiB." in told([*torch, *lean])
    assert "least memory" not in told([*torch, *weighing("jax", 0.003, 1 << 20)]), (
        "XLA's is another quantity"
    )


def test_where_nothing_is_known_it_says_so():
    busy = [*disturbed(blocks("torch"), every=1), *disturbed(blocks("norse", step=0.008), every=1)]
    assert "How sure: not at all (too many disturbed slots)." in told(busy)
    assert "no other case to compare it with" in told(blocks("torch"))
    assert told([]) == "Nothing could be ranked; the table has the reasons."


def test_missing_cases_are_named_with_the_reason_and_the_load():
    late = record("norse", "timeout", "no end after 120 s, stopped in part 'proof'")
    late.monitor, late.machine = {"load_average": 15.23}, {**late.machine, "usable_threads": 2}
    died = unmeasured("jax", "crash")
    cannot = [unmeasured(name, "unsupported") for name in ("sinabs", "lava-dl")]
    *_, missing, unsupported = answer(rows_of([*blocks("torch"), late, died, *cannot]))
    assert set(missing.removeprefix("Missing: ").removesuffix(".").split("; ")) == {
        (
            "norse (timeout: no end after 120 s, stopped in part 'proof', at a load of 15.2 on 2 "
            "cores)"
        ),
        "jax (crash: why jax is crash)",
    }
    assert unsupported == "Unsupported by lava-dl, sinabs; the table says why."
    assert answer(rows_of([died]))[1:] == ["Missing: jax (crash: why jax is crash)."]
    assert "Missing" not in told(blocks("torch")) and "Unsupported" not in told(blocks("torch"))
