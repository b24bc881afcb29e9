"""Versions of a small framework: `tiny@1.0` lies over the packages of snnbench's own."""

import json
import shutil
from pathlib import Path

import pytest
from support.command_line import axes
from support.environments import SIZES, wheel_of
from support.paths import FAULTY

import snnbench as package
from snnbench.common.mistakes import ConfigError
from snnbench.core.case import Case
from snnbench.core.variant import parse_variants
from snnbench.environments import versions
from snnbench.environments.environment import Environment
from snnbench.environments.recipes import InstallStep, Recipe
from snnbench.environments.versions import controls_of, version_environment, versions_among

ADAPTER = """
from numpy_network import NumpyNetwork, NumpyProgram


class Tiny(NumpyNetwork):
    name = "tiny"
    requires = ("tinyframework.neurons",)

    def program(self, case, network):
        if case.spec.reset == "hard":
            from tinyframework import Hard
        return super().program(case, network)
"""
WHEELS = {
    "0.1": {"tinyframework/__init__.py": ""},
    "1.0": {"tinyframework/__init__.py": "", "tinyframework/neurons.py": ""},
    "2.0": {"tinyframework/__init__.py": "Hard = 1", "tinyframework/neurons.py": ""},
}
NAMES = [f"tiny@{version}" for version in WHEELS]


@pytest.fixture(scope="module")
def there(snnbench_module):
    """Wheels of three versions, their table in environments.toml, and the adapter `tiny`."""
    wheels, folder = snnbench_module.folder / "wheels", snnbench_module.folder / "environments"
    for version, files in WHEELS.items():
        wheel_of(wheels, "tinyframework", files, version)
    folder.mkdir()
    package = str(wheels / "tinyframework-{version}-py3-none-any.whl")
    (folder / "environments.toml").write_text(
        f'[versions.tiny]\ncontrol = "numpy"\npackages = [{json.dumps(package)}]\n'
    )
    (snnbench_module.folder / "tiny.py").write_text(ADAPTER)
    shutil.copy(FAULTY / "numpy_network.py", snnbench_module.folder)
    return snnbench_module


@pytest.fixture(scope="module")
def config(there) -> Path:
    path = there.config(
        NAMES, ["numpy_network.py:NumpyNetwork"], f'neuron = ["soft", "hard"]\n{SIZES}'
    )
    path.write_text(path.read_text().replace("adapters = [", 'adapters = ["tiny.py:Tiny", '))
    return path


def test_one_that_is_not_made_says_the_command_and_plan_shows_it(there, config):
    planned = there("plan", "--config", config, "--json")
    assert planned.exit_code == 0, planned.stderr
    assert "measured beside the versions, which are compared with it: numpy" in planned.stderr
    cases = {
        (one["case"]["framework"], one["reason"]) for one in json.loads(planned.stdout)["cases"]
    }
    assert cases == {("numpy", None)} | {
        (name, f"needs an environment of its own: snnbench env create {name}") for name in NAMES
    }


@pytest.fixture(scope="module")
def measured(there, config):
    return there.run(config, "--create")


@pytest.mark.slow
def test_each_is_proved_in_its_own_environment_and_what_it_lacks_is_a_sentence(there, measured):
    assert measured.exit_code == 0, measured.stderr
    ends = {
        (one["case"]["framework"], one["case"]["neuron"]["reset"]): (one["status"], one["reason"])
        for one in measured.records
    }
    assert ends == {
        ("numpy", "soft"): ("ok", None),
        ("numpy", "hard"): ("ok", None),
        ("tiny@2.0", "soft"): ("ok", None),
        ("tiny@2.0", "hard"): ("ok", None),
        ("tiny@1.0", "soft"): ("ok", None),
        ("tiny@1.0", "hard"): ("unsupported", "tiny 1.0 has no Hard"),
        ("tiny@0.1", "soft"): ("unsupported", "tiny 0.1 has no tinyframework.neurons"),
        ("tiny@0.1", "hard"): ("unsupported", "tiny 0.1 has no tinyframework.neurons"),
    }
    for one in measured.records:
        name, _, version = one["case"]["framework"].partition("@")
        assert one["adapter"]["name"] == name
        assert one["environment"]["name"] == (f"tiny@{version}" if version else "default")
        assert not version or one["adapter"]["version"] == version


@pytest.mark.slow
def test_it_holds_its_own_package_and_no_other(there, measured):
    (own,) = (there.folder / "environments" / "tiny@1.0").glob("lib/python3.*/site-packages")
    assert {path.name for path in own.iterdir()} == {
        *(
            "tinyframework",
            "tinyframework-1.0.dist-info",
            f"snnbench-{package.__version__}.dist-info",
        ),
        *("_snnbench_beneath.pth", "_snnbench_link.pth", "_snnbench_link.py"),
    } | ({"__pycache__"} if (own / "__pycache__").exists() else set())


@pytest.mark.slow
def test_what_is_done_stays_done_and_none_is_made_again(there, config, measured):
    again = there.run(config, "--create")
    assert again.exit_code == 0 and "ready in" not in again.stderr
    assert again.stderr.count("kept, ok") == 5
    listed = there("env", "list").stdout
    assert all(name in listed for name in NAMES)
    assert there("env", "doctor", *NAMES).exit_code == 0


@pytest.mark.slow
def test_check_and_adapters_take_versions(there, measured):
    checked = there(
        "check",
        "tiny@1.0",
        "tiny@2.0",
        "--adapter",
        "tiny.py:Tiny",
        "--neuron",
        "hard",
        *axes(neurons=11),
        "--json",
    )
    ends = [(one["case"]["framework"], one["status"]) for one in json.loads(checked.stdout)]
    assert ends == [("tiny@1.0", "unsupported"), ("tiny@2.0", "ok")]
    (entry,) = json.loads(
        there("adapters", "tiny@2.0", "--adapter", "tiny.py:Tiny", "--json").stdout
    )["adapters"]
    assert (entry["name"], entry["version"], entry["environment"], entry["lacking"]) == (
        "tiny@2.0",
        "2.0",
        "tiny@2.0",
        None,
    )


@pytest.mark.slow
def test_the_page_shows_the_history_and_how_to_measure_it_again(measured):
    page = (measured.folder / "report.html").read_text()
    assert 'id="versions"' in page and "tiny 1.0 has no Hard" in page


@pytest.mark.slow
def test_packages_beneath_that_moved_make_it_stale(there, measured, monkeypatch):
    monkeypatch.setattr(versions, "own_packages", lambda: ("/elsewhere/site-packages",))
    listed = json.loads(there("env", "list", "--json").stdout)
    (state,) = {(one["state"], one["reason"]) for one in listed if one["name"] in NAMES}
    assert state[0] == "stale" and "it was made over the packages in" in state[1]


MISTAKES = {
    "fused@1.0": "fused@1.0: 'fused' has no versions",
    "snntorch@new": "snntorch@new: 'new' must be an exact version, such as snntorch@1.0.0",
    "snntorch@v0.9.4": "snntorch@v0.9.4: versions are written as PyPI does: snntorch@0.9.4",
    "sntorch@0.9.4": "did you mean 'snntorch'?",
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_version_that_is_none_is_one_sentence(snnbench, name):
    created = snnbench("env", "create", name)
    assert created.exit_code == 2 and MISTAKES[name] in created.message
    planned = snnbench("plan", "--config", snnbench.config([name, "torch"]))
    assert planned.exit_code == 2 and MISTAKES[name] in planned.message


def test_a_table_with_a_mistake_is_named(snnbench):
    folder = snnbench.folder / "environments"
    folder.mkdir()
    for text, sentence in {
        "[versions.tiny]\ncontrols = 1": (
            "versions.tiny.controls: unknown key; did you mean 'control'?"
        ),
        '[versions.tiny]\ncontrol = "torch"\nwhen = { "x" = {} }': (
            "versions.tiny.when = {'x': {}}: 'x' must be versions"
        ),
        "versions = 3": "versions = 3: must be a table",
    }.items():
        (folder / "environments.toml").write_text(text)
        ended = snnbench("env", "create", "tiny@1.0")
        assert ended.exit_code == 2 and sentence in ended.message


def test_a_recipe_replaces_one_pin_and_knows_exceptions():
    assert [pin.name for pin in version_environment("jax", "0.8.3").recipe.pins] == [
        "jax",
        "jaxlib",
    ]
    first, norse = version_environment("norse", "1.0.0").recipe.steps
    assert (first.name, norse.install, norse.build) == ("first", ("norse==1.0.0",), True)
    with pytest.raises(ConfigError, match="has no versions"):
        version_environment("nothing", "1.0")


def test_it_lies_over_the_environment_that_serves_the_framework_where_ours_has_no_torch(
    monkeypatch, tmp_path
):
    """As of a snnbench that is installed as a tool, by itself."""
    own = version_environment("snntorch", "0.9.4").beneath
    assert own == versions.own_packages() and all(Path(folder).is_dir() for folder in own)
    recipe = Recipe(
        adapters=("snntorch", "torch"),
        description="",
        steps=(InstallStep(name="all", install=("torch==2.13.0",)),),
    )
    standard = Environment("standard", recipe, tmp_path / "standard")
    monkeypatch.setattr(versions, "known", lambda: {"standard": standard})
    monkeypatch.setattr(versions, "find_spec", lambda name: None)
    assert version_environment("snntorch", "0.9.4").beneath == own, "it is not made"
    monkeypatch.setattr(Environment, "state", lambda self: ("ready", None))
    assert version_environment("snntorch", "0.9.4").beneath == (str(standard.site_packages),)
    assert version_environment("norse", "1.0.0").beneath == own


def test_controls_are_added_unless_named():
    def controls(*texts):
        return controls_of(parse_variants(texts))

    assert controls("snntorch@0.9.4", "snntorch") == ["torch"]
    assert controls("snntorch@0.9.4", "spyx@0.1.20", "torch:compile") == ["jax"]
    assert controls("snntorch@0.9.4", "all") == controls("snntorch") == []
    named = parse_variants(["snntorch@0.9.4:stepwise", "snntorch@0.9.4", "torch"])
    assert versions_among(named) == [("snntorch", "0.9.4")]


def test_ids_of_everything_without_a_version_stay():
    case = Case("snntorch", neurons=97)
    assert case.bare.id == case.id != Case("snntorch@0.9.4", neurons=97).id
    assert Case("snntorch@0.9.4", "stepwise").framework_variant == "snntorch@0.9.4:stepwise"
    assert Case("snntorch@0.9.4", neurons=97).bare == case
