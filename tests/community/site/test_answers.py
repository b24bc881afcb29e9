"""Answers of the start page to every choice, in a real browser."""

import re

from support.sites import (
    choose,
    chosen,
    loading,
    neurons_by_precisions,
    source,
    two_of_a_name,
    written,
)
from support.synthetic import blocks, disturbed, unmeasured

from snnbench.core.case import NATIVE


def test_what_is_of_this_project_is_marked(visit, tmp_path):
    """Kernels, data loading and plain loops are marked; none is the fastest of the others."""
    case = {"neurons": 97, "noise": 0.003}
    order = [("fused", 1e-3), ("torch", 2e-3), ("jax", 3e-3), ("norse", 4e-3), ("snntorch", 5e-3)]
    networks = [one for name, step in order for one in blocks(name, step=step, **case)]
    batches = [
        one
        for name, step in (("frames", 1e-3), ("tonic", 2e-3))
        for one in blocks(name, step=step, **loading())
    ]
    site = written(tmp_path, [source([*networks, *batches])])
    seen = visit(site)
    assert "fused 1.0 ours: 1.01 ms" in seen.locator(".verdict").inner_text()
    assert "times as fast as torch 1.0 plain loop" in seen.locator(".verdict").inner_text()
    assert "of the others\nnorse 1.0" in seen.locator(".facts").inner_text(), (
        "neither the kernels nor the loops"
    )
    rows = seen.locator("#answer tbody th").all_inner_texts()
    assert [" ".join(row.split()) for row in rows] == [
        *(
            "fused 1.0 ours",
            "torch 1.0 plain loop",
            "jax 1.0 plain loop",
            "norse 1.0",
            "snntorch 1.0",
        )
    ]
    cards = seen.locator(".cards").first.inner_text()
    assert "frames ours" in cards and "jax plain loop" in cards
    assert choose(seen, "workload", "data").startswith("frames 1.0 ours")
    assert "of the others\ntonic 1.0" in seen.locator(".facts").inner_text()
    for page, mark in (("torch", "plain loop"), ("frames", "ours"), ("norse", "")):
        assert (
            visit(site, f"framework/{page}.html").locator("h1").inner_text()
            == f"{page} {mark}".strip()
        )


def test_a_choice_snaps_to_what_was_measured(visit, folder):
    """bf16 was not measured at 97 neurons: the nearest measured size is chosen, and the page says
    so."""
    seen = visit(folder)
    choose(seen, "precision", "fp32")
    choose(seen, "neurons", "97")
    assert seen.locator(".note").count() == 0
    choose(seen, "precision", "bf16")
    assert (chosen(seen)["precision"], chosen(seen)["neurons"]) == ("bf16", "193")
    assert seen.locator(".note").inner_text() == "Measured with that: neurons 193."
    for name in chosen(seen):
        options = seen.locator(f"#choices select[name={name}] option").all_inner_texts()
        for option in options if name != "machine" else []:
            assert "No framework" not in choose(seen, name, option), (name, option)
            assert chosen(seen).get(name, option) == option


CLICK_THROUGH = """async () => {
  const wrong = [];
  for (const id of data.ids) {
    const start = () => { group = data.ids.indexOf(id); show(); };
    start();
    const names = [...form.elements].map((select) => select.name)
      .filter((name) => name !== "machine");
    for (const name of names) {
      for (const { value } of [...form.elements[name]?.options ?? []]) {
        start();
        form.elements[name].value = value;
        answer.replaceChildren();
        form.elements[name].dispatchEvent(new Event("change", { bubbles: true }));
        await new Promise((done) => setTimeout(done));
        const at = data.axes.findIndex((axis) => axis.name === name);
        const told = answer.innerText;
        const right = form.elements[name]?.value === value && /^measured$/m.test(told);
        if (!right) wrong.push([id, name, data.axes[at].values[value], told]);
      }
    }
  }
  return wrong;
}"""


def test_every_option_of_every_comparison_has_an_answer(visit, tmp_path):
    """A second bundle of the same name, and a second machine in it, have answers, too."""
    seen = visit(written(tmp_path, two_of_a_name()))
    assert len(seen.locator("select[name=source] option").all()) == 3
    assert seen.evaluate(CLICK_THROUGH) == []
    assert "spyx" in choose(seen, "source", "one, 2026-11-20, made-up (3)")


def test_what_was_chosen_stays_chosen(visit, tmp_path):
    """Sizes give way to a precision, and the neuron does not."""
    seen = visit(written(tmp_path, [neurons_by_precisions()]))
    for neuron in ("hard", "none", "soft"):
        choose(seen, "neuron", neuron)
        for precision in ("bf16", "fp16", "fp32"):
            choose(seen, "precision", precision)
            assert (chosen(seen)["neuron"], chosen(seen)["precision"]) == (neuron, precision)
    choose(seen, "precision", "bf16")
    choose(seen, "neuron", "hard")
    assert (chosen(seen)["precision"], chosen(seen)["neurons"], chosen(seen)["time_steps"]) == (
        "bf16",
        "322",
        "74",
    )


def test_an_answer_to_an_earlier_question_does_not_stay(visit, tmp_path):
    seen = visit(written(tmp_path, two_of_a_name()))
    seen.evaluate("data.sources = {}")
    assert "undefined" in choose(seen, "neuron", "none"), "what is wrong is said in its place"
    assert seen.locator(".facts").count() == 0


def test_ties_are_named(visit, folder):
    seen = visit(folder)
    text = choose(seen, "neurons", "31")
    names = r"(spyx 1.0 and jax 1.0 plain loop|jax 1.0 plain loop and spyx 1.0)"
    assert re.match(rf"{names} are level: neither is shown to be faster", text)
    assert seen.locator("#answer tbody tr td:first-child").all_inner_texts() == ["=1–2", "=1–2"]


def test_loading_of_data_is_told_in_its_own_words(visit, tmp_path):
    records = [
        one
        for name, step in (("frames", 1e-3), ("tonic", 2e-3))
        for one in blocks(name, step=step, **loading())
    ]
    seen = visit(written(tmp_path, [source(records)]))
    text = seen.locator("#answer").inner_text()
    assert "ms an epoch, " in seen.locator(".verdict").inner_text() and "a step" not in text
    assert (
        "those that NumPy makes of the recordings, which are tonic’s" in text
        and "oracle" not in text
    )
    assert "epoch" in seen.locator("#answer thead th").all_inner_texts()
    last = seen.locator("#answer > p").last.inner_text()
    assert last.startswith("Everywhere here: "), (
        "nothing varies, and the sentence begins with a word"
    )


def test_only_what_has_a_time_is_offered(visit, tmp_path):
    """A precision that every framework refuses is on the machine's page with its reasons, and a
    link works."""
    records = [*blocks("torch", neurons=97), *blocks("torch", neurons=97, precision="bf16")]
    site = written(
        tmp_path,
        [source([*records, unmeasured("torch", "unsupported", neurons=97, precision="tf32")])],
    )
    seen = visit(site)
    offered = "select[name=precision] option"
    assert seen.locator(offered).all_inner_texts() == ["fp32", "bf16"]
    kind, tf32 = seen.evaluate(
        "[kind, data.ids[data.groups.findIndex((_, group) => !data.counts[group])]]"
    )
    linked = visit(site, f"index.html#{kind}.{tf32}")
    assert linked.locator(".verdict").inner_text() == "No framework has a time here."
    assert "tf32" in linked.locator(offered).all_inner_texts()
    choose(linked, "precision", "fp32")
    assert linked.locator(offered).all_inner_texts() == ["fp32", "bf16"]


def test_a_choice_does_not_repeat_its_name(visit, tmp_path):
    records = [
        one
        for grad, size in ((True, 97), (False, 193))
        for one in blocks("torch", neurons=size, input_grad=grad)
    ]
    records += [one for name in ("jax", "norse") for one in blocks(name, neurons=97, neuron=NATIVE)]
    seen = visit(written(tmp_path, [source(records)]))
    assert sorted(seen.locator("select[name=input_grad] option").all_inner_texts()) == ["no", "yes"]
    choose(seen, "neurons", "193")
    choose(seen, "neurons", "97")
    assert "input gradient input gradient" not in seen.locator(".note").inner_text()
    assert "The times are in the table" in choose(seen, "neuron", "native")
    assert seen.locator("#answer tbody tr").count() == 2
    assert "1 kind of machine." in seen.locator("footer").inner_text().replace(". Results", ".|")
    method = visit(tmp_path, "method.html").locator("main").inner_text()
    assert (
        "a forward, a backward and an update" in method
        and "they are timed and not ranked" in method
    )


def test_what_was_disturbed_is_not_the_fastest(visit, tmp_path):
    """True without a rival, too, and on the machine's page."""
    records = [*disturbed(blocks("torch", neurons=97), 2), *blocks("norse", step=0.009, neurons=97)]
    records += disturbed(blocks("norse", neurons=193), 2)
    site = written(tmp_path, [source(records)])
    seen = visit(site)
    for neurons, name in (("97", "torch"), ("193", "norse")):
        text = choose(seen, "neurons", neurons)
        assert text.startswith(
            f"Not decided: disturbed. The least that was measured is {name} 1.0"
        ), text
        assert seen.locator("tr.leading").count() == 0
        assert {*seen.locator("#answer tbody tr td:first-child").all_inner_texts()} == {""}
        ratios = seen.locator("#answer tbody tr td:nth-child(4)").all_inner_texts()
        numbers = [number for text in ratios for number in re.findall(r"[\d.]+", text)]
        assert numbers and all(len(number.replace(".", "")) <= 2 for number in numbers), numbers
    (machine,) = (path.name for path in (site / "machine").iterdir())
    assert (
        visit(site, f"machine/{machine}")
        .locator("summary", has_text="not decided: disturbed")
        .count()
        == 2
    )
    assert "not decided" in visit(site, "framework/torch.html").locator("main").inner_text()


def test_a_framework_that_cannot_is_named_with_its_reason(visit, folder):
    seen = visit(folder)
    seen.locator(".missing summary").click()
    assert (
        "rockpool 1.0 – unsupported: why rockpool is unsupported"
        in seen.locator(".missing").inner_text()
    )
