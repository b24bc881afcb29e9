"""Mistakes in a user's environments.toml are reported; built-in recipes pin their packages."""

from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from support.environments import steps
from support.paths import ROOT

from snnbench.common.mistakes import ConfigError
from snnbench.environments.environment import known
from snnbench.environments.recipes import environments_folder, load_recipes, pin_of

FAULTS = {
    "not TOML": ("[tiny", "is not TOML"),
    "unknown key": (
        '[tiny]\nadapter = ["a"]',
        "tiny.adapter: unknown key; did you mean 'adapters'?",
    ),
    "unknown key of a step": (
        '[tiny]\nadapters = ["a"]\ndescription = ""\n[[tiny.steps]]\nname = "a"\ninstal = 1',
        "tiny.steps.1.instal: unknown key",
    ),
    "no steps": ('[tiny]\nadapters = ["a"]\ndescription = ""', "tiny.steps: is missing"),
    "not pinned": (steps(a=(["numpy>=2"], "")), "'numpy>=2' must be pinned, like 'torch==2.13.0'"),
    "a name that no lock pins": (steps(a=(["numpy"], "")), "tiny: 'numpy' must be pinned, like"),
    "no lock": (
        'lock = "tiny.lock"\n' + steps(a=(["numpy"], "")),
        "tiny.lock = 'tiny.lock': No such file",
    ),
    "nothing to install": (
        '[tiny]\nadapters = ["a"]\ndescription = ""\n[[tiny.steps]]\nname = "a"',
        "tiny: step 'a' installs nothing: `install` is missing",
    ),
    "a word for true": (
        steps(a=(["numpy==2.4.6"], 'build = "yes"')),
        "tiny.steps.1.build = 'yes': must be true or false",
    ),
    "a text for a list": (
        '[tiny]\nadapters = "a"',
        "tiny.adapters = 'a': must be a list, in brackets",
    ),
    "unknown need": (
        'needs = ["gcc"]\n' + steps(a=(["a==1"], "")),
        "tiny.needs.1 = 'gcc': must be one of nvcc, cuda-torch",
    ),
    "two steps of one name": (
        steps(a=(["a==1"], "")) + steps(a=(["b==1"], "")),
        "tiny: two steps are called 'a'",
    ),
    "default": ("[default]", "[default]: an environment's name"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_the_file_is_reported(fault, tmp_path, monkeypatch):
    text, words = FAULTS[fault]
    if not text.startswith("[tiny") or text.startswith("[[tiny"):
        text = (
            text
            if text.startswith("[default")
            else f'[tiny]\nadapters = ["a"]\ndescription = ""\n{text}'
        )
    monkeypatch.setenv("SNNBENCH_ENVIRONMENTS", str(tmp_path))
    (tmp_path / "environments.toml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_recipes()
    assert str(caught.value).startswith(f"{tmp_path / 'environments.toml'}: ")
    assert words in str(caught.value)


def test_an_unknown_environment_is_reported(snnbench):
    ended = snnbench("env", "create", "lavadl")
    sentence = (
        "unknown environment 'lavadl'; did you mean 'lava-dl'? (there are standard, lava-dl, "
        "spikingjelly-cupy, exodus, jaxpike, brainpy-state, slax, jaxsnn, matterhorn-pytorch)"
    )
    assert (ended.exit_code, ended.message) == (2, f"snnbench: {sentence}")


def test_the_built_in_recipes_pin_all_packages():
    """Pins of one package agree within an environment."""
    for environment in known().values():
        pins = {
            (canonicalize_name(pin.name), str(pin.specifier)) for pin in environment.recipe.pins
        }
        assert len(pins) == len({name for name, _ in pins}), environment.name


LOCKS = sorted((ROOT / "adapters/environments").glob("*.in"))


def lines_of(path: Path) -> list[str]:
    return [line for line in path.read_text().splitlines() if line and not line.startswith("#")]


def test_the_standard_environment_has_what_was_tested_together():
    standard = set(lines_of(ROOT / "adapters/environments/standard.txt"))
    assert standard <= set(lines_of(ROOT / "constraints.txt"))


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.stem)
def test_a_lock_has_one_version_of_a_package_for_each_python(lock):
    refused = {Requirement(line).name for line in lines_of(lock.with_name("without.txt"))}
    pins = [Requirement(line) for line in lines_of(lock.with_suffix(".txt"))]
    named = {canonicalize_name(Requirement(line).name) for line in lines_of(lock)}
    for python in ("3.11", "3.12", "3.13", "3.14"):
        here = {"python_version": python, "python_full_version": f"{python}.0"}
        names = [pin.name for pin in pins if pin.marker is None or pin.marker.evaluate(here)]
        assert len(names) == len(set(names)) and named <= set(names), python
        assert not refused & set(names)


def test_a_step_takes_its_versions_from_the_lock(tmp_path, monkeypatch):
    monkeypatch.setenv("SNNBENCH_ENVIRONMENTS", str(tmp_path))
    table = '[tiny]\nadapters = ["a"]\ndescription = ""\nlock = "tiny.lock"\n'
    text = steps(one=(["Torch", "b==1"], ""), gpu=(["jax[cuda13]"], "gpu = true"))
    rest = '[[tiny.steps]]\nname = "rest"\n'
    (tmp_path / "environments.toml").write_text(table + text + rest)
    (tmp_path / "tiny.lock").write_text(
        "torch==2.15.0 ; python_version >= '3'\ntorch==1.0 ; python_version < '3'\n"
        "jax==0.12.0  # also without a GPU\nnumpy==2.4.6\n"
    )
    recipe = load_recipes()["tiny"]
    assert [step.install for step in recipe.steps] == [
        ("Torch==2.15.0", "b==1"),
        ("jax[cuda13]==0.12.0",),
        ("jax==0.12.0", "numpy==2.4.6"),
    ]


@pytest.mark.parametrize(
    "lock, words",
    [
        (b"numpy==2.4.6\nsix>=1.0\n", "line 2: 'six>=1.0' must be pinned, like"),
        (b"foo bar", "line 1: 'foo bar' must be pinned"),
        (b"six==1.17 ; pyhton > '3'", "line 1: \"pyhton > '3'\" is no marker"),
        (b"\xff", "is not UTF-8 text"),
    ],
)
def test_a_fault_in_a_lock_is_named_with_its_line(lock, words, tmp_path, monkeypatch):
    monkeypatch.setenv("SNNBENCH_ENVIRONMENTS", str(tmp_path))
    table = '[tiny]\nadapters = ["a"]\ndescription = ""\nlock = "tiny.lock"\n'
    (tmp_path / "environments.toml").write_text(table + steps(one=(["numpy"], "")))
    (tmp_path / "tiny.lock").write_bytes(lock)
    with pytest.raises(ConfigError) as caught:
        load_recipes()
    path = tmp_path / "environments.toml"
    assert str(caught.value).startswith(f"{path}: tiny.lock = 'tiny.lock': {words}")


@pytest.mark.parametrize(
    "package, pin",
    [
        ("torch==2.13.0", "torch==2.13.0"),
        ("jax[cuda13]==0.10.2", "jax==0.10.2"),
        ("torch==2.13.0+cpu", "torch==2.13.0+cpu"),
        ("numpy>=2", None),
        ("numpy==2.*", None),
        ("numpy>=2,==2.4.6", None),
        ("numpy", None),
        ("numpy==2.4.6; python_version > '3'", None),
        ("numpy @ file:///tmp/numpy", None),
        ("/tmp/numpy", None),
    ],
)
def test_a_pin_is_one_version_of_one_package(package, pin):
    requirement = pin_of(package)
    assert (requirement and f"{requirement.name}{requirement.specifier}") == pin


def test_where_environments_are(tmp_path, monkeypatch):
    monkeypatch.setenv("SNNBENCH_ENVIRONMENTS", "~/mine")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert environments_folder() == tmp_path / "mine"
    monkeypatch.delenv("SNNBENCH_ENVIRONMENTS")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert environments_folder() == tmp_path / "data" / "snnbench" / "environments"
