"""Stale environments are updated; damaged ones are reported and made again."""

import json

import pytest
from support.environments import (
    config_of,
    framework,
    our_numpy,
    states,
    steps,
    wheel_of,
    write_recipe,
)


@pytest.fixture(scope="module")
def made(snnbench_module):
    """The folder of an environment with a framework and a pinned package from pip's find-links."""
    pinned = wheel_of(snnbench_module.folder / "index", "pinned_stuff", {"pinned_stuff.py": ""})
    snnbench_module.environment |= {"PIP_FIND_LINKS": str(pinned.parent), "PIP_NO_INDEX": "1"}
    first = [our_numpy(snnbench_module), "Pinned.Stuff==1.0"]
    folder = write_recipe(
        snnbench_module, steps(first=(first, ""), framework=([framework(snnbench_module)], ""))
    )
    assert snnbench_module("env", "create", "tiny").exit_code == 0
    return folder


@pytest.fixture
def ready(made, snnbench_module):
    """The command with that environment; its files are restored afterwards."""
    before = {name: (made / name).read_bytes() for name in ("snnbench.json", "snnbench-steps.json")}
    yield snnbench_module
    for name, content in before.items():
        (made / name).write_bytes(content)


@pytest.mark.slow
def test_a_changed_list_of_packages_makes_it_stale_and_create_updates_it(made, ready):
    recipes = made.parent / "environments.toml"
    text = recipes.read_text()
    more = wheel_of(ready.folder / "wheels", "morestuff", {"morestuff.py": ""})
    try:
        recipes.write_text(text + steps(more=([more], "")))
        assert states(ready)["tiny"] == "stale"
        listed = ready("env", "list").stdout
        assert "its list of packages has changed since" in " ".join(listed.split())
        ended = ready.run(config_of(ready, name="stale"), out="stale")
        assert ended.exit_code == 2
        reason = "environment tiny is stale, its list of packages has changed since"
        assert f"{reason}: snnbench env create tiny" in ended.stderr
        updated = ready("env", "create", "tiny")
        assert updated.exit_code == 0
        assert [line.split(": ")[-1] for line in updated.stderr.splitlines()[:3]] == ["kept"] * 3
        assert list(made.glob("lib/*/site-packages/morestuff.py"))
    finally:
        recipes.write_text(text)


@pytest.mark.slow
def test_another_place_of_snnbench_makes_it_stale(made, ready):
    marker = json.loads((made / "snnbench.json").read_text())
    marker["source"]["snnbench"] = "/somewhere/else"
    (made / "snnbench.json").write_text(json.dumps(marker))
    assert states(ready)["tiny"] == "stale"
    assert "made for the snnbench in /somewhere/else" in ready("env", "doctor", "tiny").stdout
    updated = ready("env", "create", "tiny").stderr.splitlines()
    assert [line.split(": ")[-1] for line in updated[:3]] == ["kept"] * 3
    assert states(ready)["tiny"] == "ready"


@pytest.mark.slow
def test_create_mends_damage(made, ready):
    (lost,) = made.glob("lib/*/site-packages/tinyframework/neurons.py")
    lost.unlink()
    assert "tiny: to mend it: snnbench env create tiny" in ready("env", "doctor", "tiny").stdout
    checked = ready("env", "doctor", "tiny", "--json")
    assert (
        checked.exit_code == 3
        and "tinyframework-1.0 has lost 1 files" in json.loads(checked.stdout)[0]["faults"][0]
    )
    mended = ready("env", "create", "tiny")
    assert (
        mended.exit_code == 0
        and "tiny is made anew: tinyframework-1.0 has lost 1 files" in mended.stderr
    )
    assert lost.exists() and ready("env", "doctor", "tiny").exit_code == 0
    assert "kept" not in mended.stderr


@pytest.mark.slow
def test_a_package_of_another_version_is_reported(made, ready):
    (metadata,) = made.glob("lib/*/site-packages/pinned_stuff-1.0.dist-info/METADATA")
    before = metadata.read_text()
    metadata.write_text(before.replace("Version: 1.0\n", "Version: 1.1\n"))
    assert "tiny: Pinned.Stuff is 1.1, not 1.0" in ready("env", "doctor", "tiny").stdout
    metadata.write_text(before)


@pytest.mark.slow
def test_damage_is_reported_and_fails_only_its_own_cases(made, ready):
    (lost,) = made.glob("lib/*/site-packages/tinyframework/neurons.py")
    python, aside = made / "bin" / "python", made / "bin" / "python-aside"
    lost.unlink()
    try:
        doctored = ready("env", "doctor", "tiny")
        assert doctored.exit_code == 3
        assert (
            "tinyframework-1.0 has lost 1 files, first tinyframework/neurons.py" in doctored.stdout
        )
        ended = ready.run(
            config_of(ready, ["tiny", "numpy"], ["numpy_network.py:NumpyNetwork"], "damaged"),
            out="damaged",
        )
        assert ended.exit_code == 3
        assert (
            ended.record("tiny")["reason"]
            == "tinyframework.neurons is not installed in environment tiny"
        )
        assert ended.record("numpy")["status"] == "ok"
        python.rename(aside)
        python.write_text("#!/bin/sh\necho no room >&2\nexit 1\n")
        python.chmod(0o755)
        checked = ready("check", "tiny", "--adapter", "tiny.py:Tiny", "--neuron", "soft")
        assert checked.exit_code == 3
        assert (
            "environment tiny gives no answer: no room: snnbench env doctor tiny" in checked.stdout
        )
        assert "gives no answer: no room" in ready("env", "doctor", "tiny").stdout
        python.unlink()
        assert states(ready)["tiny"] == "broken"
    finally:
        lost.write_text("")
        if aside.exists():
            aside.rename(python)
