"""The verbs that measure nothing: one JSON document where it is asked for, one sentence for a
mistake, help for a newcomer."""

import inspect
import io
import json
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest
from rich.console import Console
from support.paths import ROOT, committed
from typer.main import get_command

from snnbench import __version__
from snnbench.cli import doctor, exit_codes, plan
from snnbench.cli.app import VERBS as OVERVIEW
from snnbench.cli.app import app
from snnbench.cli.console import RARER
from snnbench.cli.plan import _tables
from snnbench.core.case import Case

NUMPY = "numpy_network.py:NumpyNetwork"
VERBS = [
    "env",
    "run",
    "plan",
    "check",
    "examine",
    "same",
    "profile",
    "adapters",
    "doctor",
    "report",
    "merge",
    "compare",
    "init",
]
VERBS += ["quick", "bundle", "verify", "site", "badge"]


def document(ended):
    assert ended.exit_code == 0, ended.stdout + ended.stderr
    assert ended.stderr == ""
    return json.loads(ended.stdout)


def test_doctor_is_one_json_document(snnbench):
    facts = document(snnbench("doctor", "--json"))
    assert facts["machine"]["memory_bytes"] > 0
    assert len(facts["machine"]["hash"]) == 12
    assert isinstance(facts["advice"], list)
    assert "ceilings" not in facts


def test_doctor_keeps_the_best_rates_that_it_measures(snnbench, monkeypatch):
    snnbench.environment["SNNBENCH_CACHE"] = str(snnbench.folder / "cache")
    fast, slow = (
        {"copy_bytes_per_s": {"32768": rate}, "matmul_flops_per_s": {"fp32": 2 * rate}}
        for rate in (2e9, 1e9)
    )
    for rates in (fast, slow):
        monkeypatch.setattr(doctor, "measure_ceilings", lambda device, rates=rates: rates)
        facts = document(snnbench("doctor", "--json", "--calibrate"))
        assert list(facts["ceilings"].values()) == [rates], "shown is what was measured now"
    (kept,) = (snnbench.folder / "cache" / "rates").glob("*.json")
    assert kept.stem == facts["machine"]["hash"]
    assert list(json.loads(kept.read_text())["rates"].values()) == [fast]


@pytest.mark.parametrize(
    ("measure", "words"),
    [
        ("blocks = 2\nmost_blocks = 2", "1 case, 2 blocks, about "),
        ("blocks = 1\nmost_blocks = 3", "1 case, 1 block to 3, about "),
        ("blocks = 2\nmost_blocks = 5", "1 case, 2 blocks to 5, about "),
        ("blocks = 2\nmost_blocks = 5\ntimed = false", "1 case, 1 block, about "),
    ],
)
def test_plan_says_how_many_blocks_there_are(snnbench, measure, words):
    last = snnbench(
        "plan", "--config", snnbench.config(["numpy"], [NUMPY], "", measure)
    ).stdout.splitlines()[-1]
    assert last.startswith(words) and ("for the fewest" in last) == (" to " in words)


def test_plan_is_one_json_document_and_writes_nothing(snnbench):
    grid = 'neurons = [31, 97]\nneuron = ["soft", "soft-undecayed"]\ntime_steps = [37]\nbatch = [3]\ndevice = ["cpu"]'
    config = snnbench.config(["numpy"], [NUMPY], grid, "blocks = 2")
    before = sorted(snnbench.folder.rglob("*"))
    planned = document(snnbench("plan", "--config", config, "--json"))
    assert sorted(snnbench.folder.rglob("*")) == before
    assert planned["estimate_s"] > 0
    assert [
        (c["case"]["neurons"], c["case"]["neuron"]["reset"], c["state"], c["blocks_left"])
        for c in planned["cases"]
    ] == [
        (31, "soft", "to do", 2),
        (97, "soft", "to do", 2),
        (31, "soft-undecayed", "unsupported", 0),
        (97, "soft-undecayed", "unsupported", 0),
    ]
    assert "NumPy is offered here" in planned["cases"][-1]["reason"]
    table = snnbench("plan", "--config", config)
    assert table.exit_code == 0
    assert "4 cases, 2 blocks" in table.stdout


def test_plan_says_once_what_all_cases_have_in_common(snnbench):
    grid = 'neurons = [31, 97]\nneuron = ["soft"]\ntime_steps = [37]\nbatch = [3]\ndevice = ["cpu"]'
    config = snnbench.config(["numpy"], [NUMPY], grid)
    common, _, head, _, *rows = snnbench("plan", "--config", config).stdout.splitlines()
    assert common == "all: soft · linear-lif · T=37 · B=3 · L=1 · fp32 · cpu"
    assert head.split() == ["framework", "sizes", "state"]
    assert [row.split()[:2] for row in rows[:2]] == [["numpy", "N=31"], ["numpy", "N=97"]]
    one = snnbench("plan", "--config", config, "--only", "neurons=31").stdout
    assert "all:" not in one and "N=31 T=37 B=3 L=1" in one


def test_plan_says_what_the_present_load_makes_of_its_estimate(snnbench, monkeypatch):
    monkeypatch.setattr(plan, "load_average", lambda: 99.0)
    monkeypatch.setattr(plan, "usable_cores", lambda: [0, 1])
    ended = snnbench("plan", "--config", snnbench.config(["numpy"], [NUMPY]))
    assert re.search(r"about \d s \(an estimate\)", ended.stdout)
    assert re.search(r"for a quiet one, and at this load it may be \d min$", ended.message)


def test_plan_keeps_the_state_on_a_narrow_terminal_and_names_each_network_once():
    longest = Case("spikingjelly", construction="multi-step", mode="compile")
    others = [
        Case(name, neurons=n, precision="bf16", device="cuda:0")
        for n in (64, 128)
        for name in ("jax", "spyx", "torch")
    ]
    planned = [SimpleNamespace(case=case, reason="much " * 20) for case in (longest, *others)]
    cases = [SimpleNamespace(planned=each, blocks=0, state="unsupported") for each in planned]
    for width in (60, 200):
        console = Console(file=io.StringIO(), width=width)
        _, tables = _tables(cases, console)
        for _, table in tables:
            console.print(table)
        text = console.file.getvalue()
        assert text.count("unsupported: ") == len(cases) and "…" not in text
        assert ("precision" in text) == (width == 200)
        titles = [title for title, _ in tables]
        assert titles == [""] if width == 200 else sum("cuda:0" in title for title in titles) == 2
        starts = {line.index("unsupported: ") for line in text.splitlines() if "unsup" in line}
        assert len(starts) == 1, "states stand below each other"


def test_init_writes_a_config_that_plan_accepts_and_overwrites_nothing(snnbench):
    assert snnbench("init", "mine.toml").exit_code == 0
    text = (snnbench.folder / "mine.toml").read_text()
    planned = document(snnbench("plan", "--config", "mine.toml", "--json"))
    assert planned["cases"] and planned["name"] == "mine"
    again = snnbench("init", "mine.toml")
    assert again.exit_code == 2
    assert "mine.toml: exists already" in again.message
    assert (snnbench.folder / "mine.toml").read_text() == text


CHECKED = '[{"case": {"neuron": {"reset": "soft"}, "precision": "fp32"}, "status": "ok"}]'
NOWHERE = [
    ["init", "nowhere/mine.toml"],
    ["run", "--config", "mine.toml", "--out", "mine.toml"],
    ["badge", "checked.json", "--out", "mine.toml/badge.json"],
    ["badge", "checked.json", "--out", "folder.json"],
    ["bundle", committed("natives"), "--out", "mine.toml/x.bundle.jsonl"],
]


@pytest.mark.parametrize("verb", NOWHERE, ids=lambda verb: f"{verb[0]} {verb[-1]}")
def test_a_place_that_cannot_be_written_to_is_the_user_s_mistake(snnbench, verb):
    snnbench.config(["numpy"], [NUMPY], name="mine")
    (snnbench.folder / "checked.json").write_text(CHECKED)
    (snnbench.folder / "folder.json").mkdir()
    ended = snnbench(*verb)
    assert ended.exit_code == 2
    assert verb[-1] in ended.message
    assert "What was finished is kept" not in ended.message


def test_the_starter_names_every_key(snnbench):
    schema = document(snnbench("init", "--schema"))
    assert list(snnbench.folder.glob("*.toml")) == []
    assert snnbench("init").exit_code == 0
    text = (snnbench.folder / "experiment.toml").read_text()
    keys = [
        *schema["properties"],
        *schema["$defs"]["Grid"]["properties"],
        *schema["$defs"]["Measure"]["properties"],
    ]
    assert [key for key in keys if key not in text] == []
    assert "all keys but name may be left out" in text
    assert schema["required"] == ["name"]
    assert all("required" not in schema["$defs"][table] for table in ("Grid", "Measure", "Slurm"))
    assert "a spike subtracts the threshold; hard: sets the potential to 0; none: neither" in text


def test_a_report_of_several_folders_writes_into_none_of_them(snnbench):
    ended = snnbench("report", "one", "other")
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert ended.message.startswith("snnbench: report one other: needs --out FOLDER")


def test_a_report_of_nothing(snnbench):
    missing = snnbench("report", "nowhere")
    assert (missing.exit_code, missing.message) == (2, "snnbench: nowhere: there is no such folder")
    (snnbench.folder / "results.csv").touch()
    file = snnbench("compare", "results.csv", "nowhere")
    assert (file.exit_code, file.message.split("; ")[0]) == (
        2,
        "snnbench: results.csv: it is a file",
    )
    (snnbench.folder / "empty").mkdir()
    empty = snnbench("report", "empty")
    assert empty.exit_code == 6
    assert "no records there" in empty.message
    assert list((snnbench.folder / "empty").iterdir()) == []


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(snnbench, verb):
    ended = snnbench(verb, "--help")
    assert (ended.exit_code, ended.stderr) == (0, "")
    assert "Usage: snnbench" in ended.stdout


@pytest.mark.parametrize("verb", [*VERBS, "env create", "env doctor"])
def test_no_word_of_a_help_text_is_lost(snnbench, verb):
    """Brackets would be taken for markup, and what stands in them left out."""
    snnbench.environment["COLUMNS"] = (
        "400"  # else columns are broken into lines, between which others stand
    )
    shown = re.sub(r"[\s│`]+", "", snnbench(*verb.split(), "--help").stdout)
    command = get_command(app)
    for word in verb.split():
        command = command.get_command(None, word)
    for each in command.params:
        default = each.show_default if isinstance(each.show_default, str) else ""
        for text in (each.help or "", default):
            assert re.sub(r"[\s`]+", "", text) in shown, (each.name, text)


@pytest.mark.parametrize("verb", [*(verb for verb in VERBS if verb != "env"), "env create"])
def test_a_help_text_breaks_no_line_in_mid_sentence(snnbench, verb):
    snnbench.environment["COLUMNS"] = "1000"
    shown = [line.strip() for line in snnbench(*verb.split(), "--help").stdout.splitlines()]
    command = get_command(app)
    for word in verb.split():
        command = command.get_command(None, word)
    for paragraph in inspect.cleandoc(command.callback.__doc__).split("\n\n"):
        assert " ".join(paragraph.split()).replace("`", "") in [
            line.replace("`", "") for line in shown
        ]


@pytest.mark.parametrize(
    ("verb", "first", "rarer"),
    [
        ("", "quick init run plan check report compare adapters env doctor", "merge bundle badge"),
        ("run", "--set --only --fresh", "--shard --detach --dry-run --executor --create --adapter"),
        ("doctor", "--calibrate", "--kernels"),
        ("quick", "--neurons --inputs --inference --within", "--blocks --timeout --set --adapter"),
        ("report", "--format --write", "--only --phase --plot-format --baseline"),
        ("compare", "--pair --only-changed", "--factor --relative --strict"),
    ],
)
def test_what_few_people_need_is_the_last_part_of_a_help_text(snnbench, verb, first, rarer):
    before, heading, last = snnbench(*verb.split(), "--help").stdout.partition(RARER)
    for part, expected in ((before, first), (last, rarer)):
        names = re.findall(r"^│ +(?:\* +)?([a-z-]+) ", part, re.MULTILINE)
        assert heading and {*expected.split()} <= {*names}, names


@pytest.mark.parametrize("verb", OVERVIEW)
def test_the_overview_says_of_a_verb_what_its_help_begins_with(verb):
    assert " ".join(get_command(app).get_command(None, verb).help.split()).startswith(
        OVERVIEW[verb].rstrip(".")
    )


def test_the_overview_imports_no_verb():
    """Nor what they need: 321 modules in November 2026, where all verbs and their libraries were
    1,116."""
    code = "import sys; from snnbench.cli import run_command\n"
    code += "try: run_command(['--help'])\nfinally: print(*sys.modules, file=sys.stderr)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    modules = ended.stderr.split()
    assert ended.returncode == 0 and "Commands" in ended.stdout and len(modules) < 450
    absent = {f"snnbench.cli.{verb}" for verb in OVERVIEW} | {
        "snnbench.runner",
        "numpy",
        "scipy",
        "pydantic",
        "jinja2",
        "psutil",
    }
    assert (absent | {"vl_convert", "filelock"}).isdisjoint(modules)


def test_a_mistyped_verb_is_corrected(snnbench):
    ended = snnbench("rnu")
    assert ended.exit_code == 2 and "Did you mean 'run'?" in ended.stderr


def test_help_and_version(snnbench):
    overview = snnbench("--help")
    assert overview.exit_code == 0
    assert [verb for verb in VERBS if verb not in overview.stdout] == []
    assert "Exit codes" in overview.stdout
    assert snnbench("--version").stdout == f"snnbench {__version__}\n"


def test_the_documented_exit_codes_are_those_of_the_command_line():
    table = (
        (ROOT / "docs" / "reference.md").read_text(encoding="utf-8").partition("| exit code |")[2]
    )
    documented = re.findall(r"^\| (\d+) \|", table.partition("\n\n")[0], re.MULTILINE)
    assert [int(code) for code in documented] == list(exit_codes.MEANINGS)
