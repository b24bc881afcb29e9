"""An adapter in one short file runs without being installed."""

import json
import re
import textwrap

import pytest
from support.command_line import TINY
from support.paths import FAULTY
from support.slow import marked_slow

SHORT_ADAPTER = textwrap.dedent("""
    import torch
    from snnbench.adapters import TorchAdapter

    class Spike(torch.autograd.Function):
        @staticmethod
        def forward(ctx, u):
            ctx.save_for_backward(u)
            return (u >= 0).to(u.dtype)
        @staticmethod
        def backward(ctx, g):
            return g / (1 + ctx.saved_tensors[0].abs()) ** 2

    class Mine(TorchAdapter):
        name = "mine"
        def neuron(self, spec, features):
            class Loop(torch.nn.Module):
                def forward(self, currents):
                    v, spikes = torch.zeros_like(currents[0]), []
                    for current in currents.unbind(0):
                        v = spec.decay * v + current
                        spikes.append(Spike.apply(v - spec.threshold))
                        v = v - spec.threshold * spikes[-1]
                    return torch.stack(spikes)
            return Loop()
""").lstrip()


@pytest.fixture
def short_adapter(snnbench):
    folder = snnbench.folder / "somewhere" / "else"
    folder.mkdir(parents=True)
    (folder / "mine.py").write_text(SHORT_ADAPTER)
    return folder / "mine.py"


@pytest.mark.frameworks
def test_an_adapter_of_25_lines_runs_where_files_are_named_like_frameworks(snnbench, short_adapter):
    assert len([line for line in SHORT_ADAPTER.splitlines() if line]) <= 25
    for folder in (snnbench.folder, short_adapter.parent):
        for name in ("norse", "torch", "numpy", "snnbench", "json"):
            (folder / f"{name}.py").write_text('raise RuntimeError("the wrong file")\n')
    config = snnbench.config(["numpy"], ["numpy_network.py:NumpyNetwork"])
    arguments = ["--config", config, "--out", "out", "--adapter", "somewhere/else/mine.py:Mine"]
    ended = snnbench.installed("run", *arguments)
    assert ended.exit_code == 0, ended.stderr
    assert {row["framework"]: row["status"] for row in ended.rows} == {"numpy": "ok", "mine": "ok"}
    assert ended.record("mine")["proof"]["passed"]
    assert ended.record("mine")["adapter"]["source_sha256"]


@pytest.mark.slow
def test_check_holds_it_to_the_same_proof(snnbench, short_adapter):
    ended = snnbench(
        "check",
        "--adapter",
        f"{short_adapter}:Mine",
        "--neuron",
        "soft",
        "--neuron",
        "hard",
        "--json",
        *TINY,
    )
    assert ended.exit_code == 4, "its reset is soft whatever is asked"
    results = {result["case"]["neuron"]["reset"]: result for result in json.loads(ended.stdout)}
    assert {result["case"]["framework"] for result in results.values()} == {"mine"}, (
        "without names only what was given"
    )
    assert results["soft"]["status"] == "ok"
    assert (
        results["hard"]["status"] == "check_failed"
        and "resets like `soft`" in results["hard"]["reason"]
    )


ADAPTER = "import math\nfrom snnbench.adapters import Adapter, TorchAdapter\nclass Mine({base}):\n    name = 'mine'\n    {more}\n"
NO_ADAPTERS = {
    "mine.py:Mein": ("", r"there is no class Mein \(there is Mine\)"),
    "mine.py:TorchAdapter": ("", "needs a name of letters"),
    "mine.py:math": ("", "is not a subclass of TorchAdapter or JaxAdapter"),
    "mine.py:Mine": (
        "requires = 'torch'",
        r"requires = 'torch' must be a tuple of texts, like \('torch',\)",
    ),
    "other.py:Mine": ("", "there is no file"),
    "mine.toml:Mine": ("", "must look like 'file.py:Class' or 'package.module:Class'"),
    "../folder:Mine": ("", "must look like"),
    "nobody.has.this:Mine": ("", "there is no module nobody.has.this"),
}
RARE = {"mine.py:TorchAdapter", "mine.py:math", "nobody.has.this:Mine"}


@pytest.mark.parametrize(
    ("verb", "reference"),
    [
        *(("check", each) for each in NO_ADAPTERS if each not in RARE),
        ("plan", "mine.py:Mein"),
        *(marked_slow("check", each) for each in sorted(RARE)),
        marked_slow("adapters", "mine.py:Mein"),
    ],
)
def test_what_is_no_adapter_is_refused_in_one_sentence(snnbench, reference, verb):
    more, words = NO_ADAPTERS[reference]
    (snnbench.folder / "mine.py").write_text(ADAPTER.format(base="TorchAdapter", more=more))
    (snnbench.folder / "mine.toml").touch()
    config = ["--config", snnbench.config(["torch"])] if verb == "plan" else []
    ended = snnbench(verb, *config, "--adapter", reference)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert re.search(words, ended.message), ended.message


def test_an_adapter_of_its_own_says_which_methods_it_lacks(snnbench):
    (snnbench.folder / "mine.py").write_text(ADAPTER.format(base="Adapter", more=""))
    ended = snnbench("check", "--adapter", "mine.py:Mine")
    assert (
        ended.exit_code,
        "does not define prepare, program; subclass TorchAdapter" in ended.message,
    ) == (2, True)


IN_NUMPY = f"""import sys
sys.path.append({str(FAULTY)!r})
from numpy_network import NumpyNetwork
class Mine(NumpyNetwork):
    name = "mine"
"""
FAILING = """    def program(self, case, network):
        return self.helper(case)

    def helper(self, case):
        return 1 / 0
"""


def test_an_exception_is_shown_from_the_author_s_file_on(snnbench):
    (snnbench.folder / "mine.py").write_text(IN_NUMPY + FAILING)
    frames = [
        ('mine.py", line 7, in program', "return self.helper(case)"),
        ('mine.py", line 10, in helper', "return 1 / 0"),
    ]
    checked = snnbench("check", "--adapter", "mine.py:Mine", "--neuron", "soft", *TINY)
    ran = snnbench.run(
        snnbench.config(["mine"], [snnbench.folder / "mine.py:Mine"], measure="blocks = 2")
    )
    record = ran.record("mine") if len(ran.records) == 1 else ran.records[0]
    for text in (checked.stdout, ran.stderr, record["traceback"]):
        lines = [line.strip() for line in text.splitlines()]
        first = next(index for index, line in enumerate(lines) if line.startswith('File "'))
        shown = [line for line in lines[first:] if set(line) - {"^", "~", " "}][:5]
        assert [
            (shown[i].endswith(place), shown[i + 1])
            for i, (place, _) in zip((0, 2), frames, strict=True)
        ] == [(True, code) for _, code in frames]
        assert shown[4] == "ZeroDivisionError: division by zero"
        assert text.count("in helper") == 1, "once, however many cases failed by it"
    assert (checked.exit_code, ran.exit_code, record["status"]) == (3, 3, "build_error")
    assert "build_error" in checked.stdout, "what stops it has one name"
    page = (ran.folder / "report.html").read_text()
    assert "line 10, in helper" in page


def test_what_failed_before_the_file_was_mended_does_not_count_against_it(snnbench):
    own = snnbench.folder / "mine.py"
    config = snnbench.config(["mine"], [own.with_name("mine.py:Mine")])
    own.write_text(IN_NUMPY + FAILING)
    assert snnbench.run(config).exit_code == 3
    own.write_text(IN_NUMPY)
    mended = snnbench.run(config)
    assert mended.exit_code == 0, mended.stderr
    assert "measured again: its file, or what that imports, has changed (1 case)" in mended.stderr
    assert sorted(row["status"] for row in mended.rows) == ["build_error", "ok"]
    assert all(re.fullmatch("mine file [0-9a-f]{6}", row["framework"]) for row in mended.rows)
