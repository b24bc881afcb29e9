"""Calls until a slow start is amortised."""

from support.synthetic import blocks, figure, table_of


def test_a_slow_start_pays_off_after_so_many_calls():
    late = [
        r.model_copy(
            update={
                "parts": {
                    **r.parts,
                    "import": r.parts["import"].model_copy(update={"seconds": 2.25}),
                }
            }
        )
        for r in blocks("jax", step=0.002)
    ]
    (panel,) = figure(table_of(blocks("torch", step=0.004) + late), "cold-start").panels
    said = {
        point["variant"]: point["pays"]
        for point in panel.data(table_of(blocks("torch", step=0.004) + late))
    }
    medians = {"torch": 0.00406, "jax": 0.00203}
    assert said == {
        "torch": "starts first",
        "jax": f"ahead after {round(2 / (medians['torch'] - medians['jax']) + 0.5)}",
    }


def test_a_slow_start_pays_off_only_where_its_step_is_surely_faster():
    for count, step, said in (
        (3, 0.004, "may not catch up"),
        (1, 0.002, "may not catch up"),
        (3, 0.005, "never ahead"),
    ):
        late = blocks("jax", count, step=step)
        for one in late:
            one.parts["import"].seconds = 2.25
        (panel,) = figure(table_of(blocks("torch", count, step=0.004) + late), "cold-start").panels
        assert [point["pays"] for point in panel.points] == ["starts first", said]
