"""Texts from outside steer no terminal and name no person."""

import unicodedata
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from snnbench.common.texts import anonymous, clean, cut, unplaced
from snnbench.core.status import in_words


@pytest.mark.parametrize(
    ("hostile", "harmless"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x9b31mred", "red"),
        ("\x1b]0;title\x07text\x1b]8;;http://evil\x1b\\link", "textlink"),
        ("\x1b]no end", "]no end"),
        ("gnp\u202etxt.exe", "gnptxt.exe"),
        ("a\u2066b\u200fc\u200bd\ufeffe\u2028f", "abcdef"),
        ("half \ud83d of one", "half  of one"),
        ("a\tb\nc\rd\x00e\x7ff\x85g", "a\tb\ncdefg"),
        ("é ü ─ 中 😀", "é ü ─ 中 😀"),
    ],
)
def test_what_steers_a_terminal_is_gone_and_the_rest_stays(hostile, harmless):
    assert clean(hostile) == harmless
    assert clean({hostile: [hostile, 3, None]}) == {harmless: [harmless, 3, None]}


@given(st.text(st.characters(), max_size=40))
@example("\x1b\x1b[[mm")
def test_nothing_is_left_that_a_terminal_or_a_file_minds(text):
    cleaned = clean(text)
    assert not any(
        unicodedata.category(letter) in ("Cc", "Cs") and letter not in "\t\n" for letter in cleaned
    )
    assert not set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f") & set(
        cleaned
    )
    cleaned.encode()


SOMEBODY = {
    "HOME": "/home/alice",
    "USER": "alice",
    "LOGNAME": "alice",
    "SUDO_USER": "bob-the-admin",
}


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("/home/alice/x and /home/alice", "~/x and ~"),
        ("/home/alice2, /home/alice-2", "/home/alice2, /home/USER-2"),
        ("file:///home/alice/x", "file://~/x"),
        ("alice's, alice_x, _alice, malice, alice1", "USER's, USER_x, _USER, malice, alice1"),
        ("run by bob-the-admin", "run by USER"),
        ("/mnt/data/alice/mine.py:Mine", "/mnt/data/USER/mine.py:Mine"),
    ],
)
def test_home_and_user_are_replaced_as_words(monkeypatch, text, written):
    for name, value in SOMEBODY.items():
        monkeypatch.setenv(name, value)
    assert anonymous({text: [text]}) == {written: [written]}


@pytest.mark.parametrize("home", ["", "/", "//", "relative", "."])
@pytest.mark.parametrize("user", ["", "root", "a", "torch"])
def test_a_home_or_user_that_says_nothing_replaces_nothing(monkeypatch, home, user):
    for name, value in {"HOME": home, "USER": user, "LOGNAME": user, "SUDO_USER": user}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("snnbench.common.texts._account", lambda: (user, home))
    text = "a relative path. /usr/lib/torch by root: // . a"
    assert anonymous(text) == text


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ('File "/srv/offer/a/mine.py", line 3', 'File "mine.py", line 3'),
        ("/srv/offer/b.py in '/srv/offer' of /srv/offer2/c", "b.py in '.' of /srv/offer2/c"),
        ("/mnt/srv/offer/b.py, file:///srv/offer/b.py", "/mnt/srv/offer/b.py, file://b.py"),
        ("/opt/x /usr/x", "/opt/x /usr/x"),
    ],
)
def test_a_path_below_a_known_folder_is_relative_to_it(text, written):
    folders = [Path("/srv/offer"), Path("/srv/offer/a"), Path("/"), Path("/opt"), Path(".")]
    assert unplaced({text: [text, 3]}, folders) == {written: [written, 3]}


def test_a_home_behind_a_link_is_known_by_both_names(monkeypatch, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    monkeypatch.setenv("HOME", str(tmp_path / "link"))
    assert anonymous([f"{tmp_path}/link/a", f"{tmp_path}/real/a"]) == ["~/a", "~/a"]


@given(
    before=st.integers(0, 300),
    many=st.integers(1, 40),
    first=st.integers(1, 300),
    last=st.integers(0, 300),
)
def test_a_cut_text_keeps_no_part_of_a_name(before, many, first, last):
    """Neither of the home of this process, nor of a path of another system."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in SOMEBODY.items():
            patch.setenv(name, value)
        whole = (
            "x " * before + "/home/alice/mine.py by alice, /srv/carol/theirs.py " * many + "y " * 50
        )
        assume(len(whole) > first + last)
        text = cut(whole, first, last)
    assert len(text) <= first + last
    start, _, end = text.partition("…")
    whole = {"x", "y", "by", "~/mine.py", "USER,", "/srv/carol/theirs.py"}
    assert set(end.split()) <= whole and {word for word in start.split() if "/" in word} <= whole


def test_what_is_cut_says_so_and_what_is_short_stays():
    assert cut("0123456789", 6) == "01234…"
    assert cut("01234 5 6789", 4, 6) == "012… 6789"
    assert cut("0123456789", 10) == cut("0123456789", 6, 4) == "0123456789"


def test_the_reason_of_an_exception_keeps_no_part_of_a_name(monkeypatch):
    monkeypatch.setenv("HOME", "/home/alice")
    for length in range(1930, 2000):
        assert "/ho" not in in_words(
            ValueError("x" * length + " /home/alice/secret/file.py" + " more" * 99)
        )
