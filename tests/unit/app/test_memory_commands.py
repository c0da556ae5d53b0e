"""`haru memory` and `haru log`, as a person or a script uses them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .logged import logged


def test_a_memory_through_its_life(haru) -> None:
    """Added, found, shown, changed, retired, restored and forgotten, each with JSON for scripts."""
    made = haru("memory", "add", "Robin plays the cello.", "--kind", "interest", "--tag", "music", "--json").json
    key = made["id"]
    assert [each["id"] for each in haru("memory", "search", "cello", "--json").json] == [key]
    assert haru("memory", "edit", key, "--text", "Robin plays the viola.", "--json").json["tags"] == ["music"]
    assert haru("memory", "retire", key, "--reason", "sold it", "--json").json["status"] == "retired"
    assert haru("memory", "list", "--json").json == []
    assert [each["id"] for each in haru("memory", "list", "--retired", "--json").json] == [key]
    assert haru("memory", "restore", key, "--json").json["status"] == "active"
    shown = haru("memory", "show", key[:10], "--json").json
    assert [each["verb"] for each in shown["history"]] == ["add", "update", "retire", "restore"]
    assert haru("memory", "stats", "--json").json["status"] == {"active": 1}
    assert haru("memory", "forget", key, "--yes", "--json").json == {"forgotten": key, "turns_redacted": 0}
    assert haru("memory", "list", "--all", "--json").json == []


def test_text_for_people_says_the_same(haru) -> None:
    """Without --json the sentence itself is shown, and an empty store says so in words."""
    assert "Nothing is remembered yet." in haru("memory", "list").out
    haru("memory", "add", "Robin plays the cello.")
    for words in (("list",), ("search", "cello")):
        assert "Robin plays the cello." in haru("memory", *words).out
    assert "Nothing comes close enough." in haru("memory", "search", "submarine").out
    assert "1 active" in haru("memory", "stats").out


def test_forgetting_asks_first_and_says_what_goes(haru) -> None:
    """Without a yes nothing changes; the question names the sentence and how many turns lose their words."""
    logged(haru.home, "We live in Boise.")
    haru("writer", "--once")
    key = haru("memory", "list", "--json").json[0]["id"]
    refused = haru("memory", "forget", key, typed="n\n")
    assert refused.code == 1
    assert "The user lives in Boise." in refused.out
    assert "1 turns" in refused.out
    assert haru("memory", "list", "--json").json
    assert haru("memory", "forget", key, typed="y\n").code == 0
    assert b"boise" not in b"".join(path.read_bytes().lower() for path in haru.home.rglob("*") if path.is_file())
    assert "(forgotten)" in haru("log", "show").out


def test_a_memory_says_where_it_comes_from(haru) -> None:
    """What the writer learned is shown with the words that said it."""
    logged(haru.home, "We live in Boise.")
    haru("writer", "--once")
    key = haru("memory", "list", "--json").json[0]["id"]
    out = haru("memory", "show", key).out
    assert "household: We live in Boise." in out
    assert "add by writer" in out


def test_an_export_makes_the_same_memories_elsewhere(haru, tmp_path: Path) -> None:
    """Exported, imported into an empty home, and exported again: the same lines. A second import adds nothing."""
    for text in ("Robin plays the cello.", "Ana está bien. 東京", "Robin lives in Boise."):
        haru("memory", "add", text)
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    haru("memory", "export", str(first))
    elsewhere = {"HARU_HOME": str(tmp_path / "elsewhere")}
    assert haru("memory", "import", str(first), "--json", **elsewhere).json["imported"] == 3
    haru("memory", "import", str(first), **elsewhere)
    haru("memory", "export", str(second), **elsewhere)
    assert sorted(first.read_text().splitlines()) == sorted(second.read_text().splitlines())
    assert first.stat().st_mode & 0o077 == 0


def test_a_bad_line_in_an_import_is_named_and_nothing_is_taken(haru, tmp_path: Path) -> None:
    """All or nothing, with the line number."""
    haru("memory", "add", "Robin plays the cello.")
    file = tmp_path / "bad.jsonl"
    haru("memory", "export", str(file))
    haru("memory", "forget", haru("memory", "list", "--json").json[0]["id"], "--yes")
    file.write_text(file.read_text() + '{"id": "x"}\n')
    ran = haru("memory", "import", str(file))
    assert (ran.code, "line 2" in ran.out) == (2, True)
    assert haru("memory", "list", "--json").json == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("memory", "show", "mem-nothing"), "haru memory list"),
        (("memory", "add", "A thing.", "--kind", "colour"), "there is no kind colour"),
        (("memory", "add", "x" * 500), "text"),
        (("memory", "import", "/nowhere.jsonl"), "/nowhere.jsonl"),
    ],
)
def test_a_wrong_command_says_what_is_right(haru, words: tuple[str, ...], told: str) -> None:
    """Code 2 and one clear line, with nothing changed."""
    ran = haru(*words)
    assert (ran.code, told in ran.out) == (2, True)
    assert haru("memory", "list", "--all", "--json").json == []


def test_text_cannot_command_the_terminal(haru) -> None:
    """Markup and escape codes inside a memory are shown as text or left out, never obeyed."""
    haru("memory", "add", "Robin likes [red]red[/red] \x1b[2Jand :dog: \x9bwine.")
    out = haru("memory", "list").out
    assert "Robin likes [red]red[/red]" in out
    assert ":dog:" in out
    assert "\x1b[2J" not in out
    assert "\x9b" not in out


def test_the_log_is_shown_and_cut_to_the_newest(haru) -> None:
    """`haru log show` has the words in order; --last and a session's id narrow it; an unreadable line is reported."""
    logged(haru.home, "One.", "Two.", session="s-one")
    logged(haru.home, "Three.", session="s-two")
    with next((haru.home / "log").iterdir()).open("ab") as file:
        file.write(b"not json\n")
    out = haru("log", "show").out
    assert out.index("One.") < out.index("Two.") < out.index("Three.")
    assert "not readable" in out
    lines = haru("log", "show", "s-one", "--last", "1", "--json").out.splitlines()
    assert [json.loads(line).get("said") for line in lines if '"turn"' in line][-1:] in ([], ["Two."])
