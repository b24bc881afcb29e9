"""A folder where an environment should be, and that snnbench did not make, is left alone."""

import json

import pytest
from support.environments import framework, steps, write_recipe
from support.slow import representatives
from support.trees import tree


@pytest.mark.parametrize("verb", ["create", "remove"])
@pytest.mark.parametrize("linked", [False, True])
def test_a_users_folder_is_neither_made_anew_nor_removed(snnbench, verb, linked):
    folder = write_recipe(snnbench, steps(first=([framework(snnbench)], "")))
    mine = snnbench.folder / "mine" if linked else folder
    mine.mkdir()
    (mine / "thesis.txt").write_text("mine")
    if linked:
        folder.symlink_to(mine)
    before = tree(snnbench.folder)
    ended = snnbench("env", verb, "tiny")
    assert (ended.exit_code, len(ended.stderr.splitlines())) == (2, 1)
    assert f"{folder}: is no environment that snnbench made; move it away" in ended.message
    after = tree(snnbench.folder)
    assert {name: after[name] for name in before} == before


@pytest.mark.parametrize("name", ["snnbench.json", "snnbench-steps.json"])
@pytest.mark.parametrize("content", representatives(["", "[]", "7", "[" * 100_000], [3]))
def test_a_damaged_file_of_an_environment_has_it_made_anew(snnbench, name, content):
    folder = write_recipe(snnbench, steps(first=([framework(snnbench)], "")))
    assert snnbench("env", "create", "tiny").exit_code == 0
    (folder / name).write_text(content)
    assert json.loads(snnbench("env", "list", "--json").stdout)
    ended = snnbench("env", "create", "tiny")
    assert (ended.exit_code, ended.stderr.splitlines()[-1]) == (0, f"tiny is ready in {folder}")
