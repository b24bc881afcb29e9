"""Which commit measured: of snnbench's own checkout, and of no other repository."""

import subprocess

from snnbench.runner.execute import ROOT, git_commit


def git(folder, *arguments):
    who = [
        "-c",
        "user.name=nobody",
        "-c",
        "user.email=nobody@example.com",
        "-c",
        "commit.gpgsign=false",
    ]
    ended = subprocess.run(
        ["git", "-C", str(folder), *who, *arguments], capture_output=True, text=True, check=True
    )
    return ended.stdout.strip()


def test_a_checkout_s_commit_and_whether_files_differ_from_it(tmp_path):
    git(tmp_path, "init", "--quiet")
    assert git_commit(tmp_path) is None, "there is no commit yet"
    (tmp_path / "a.py").write_text("pass")
    git(tmp_path, "add", "a.py")
    git(tmp_path, "commit", "--quiet", "--message", "first")
    git(tmp_path, "tag", "v1")
    head = git(tmp_path, "rev-parse", "HEAD")
    assert git_commit(tmp_path) == head
    (tmp_path / "a.py").write_text("1 / 0")
    assert git_commit(tmp_path) == f"{head}-dirty"
    (tmp_path / "site-packages").mkdir()
    assert git_commit(tmp_path / "site-packages") is None, "that is somebody else's repository"


def test_where_there_is_no_git_nothing_is_known(tmp_path, monkeypatch):
    git(tmp_path, "init", "--quiet")
    monkeypatch.setenv("PATH", "")
    assert git_commit(tmp_path) is None


def test_it_is_this_checkout():
    assert ROOT == ROOT
