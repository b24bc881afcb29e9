"""A folder that snnbench did not make stays untouched, also in the place of an environment."""

import json

import pytest
from support.environments import framework, steps, write_recipe
from support.slow import representatives
from support.trees import tree


@pytest.mark.parametrize("verb", ["create", "remove"])
@pytest.mark.parametrize("linked", [False, True])
def test_a_folder_of_the_user_is_neither_replaced_nor_removed(snnbench, verb, linked):
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
def test_an_environment_with_a_damaged_file_is_made_again(snnbench, name, content):
    folder = write_recipe(snnbench, steps(first=([framework(snnbench)], "")))
    assert snnbench("env", "create", "tiny").exit_code == 0
    (folder / name).write_text(content)
    assert json.loads(snnbench("env", "list", "--json").stdout)
    ended = snnbench("env", "create", "tiny")
    assert (ended.exit_code, ended.stderr.splitlines()[-1]) == (0, f"tiny is ready in {folder}")
