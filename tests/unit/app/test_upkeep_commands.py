"""`haru writer`, `haru rebuild` and `haru doctor`."""

from __future__ import annotations

import asyncio
import fcntl
import os
from datetime import UTC, datetime
from pathlib import Path

from haru.chatlog import ChatLog, Turn
from haru.index.inprocess import InProcessIndex
from haru.journal import Journal, Retry, SetAside
from haru.writer.rules import RulesExtractor
from haru.writer.worker import Writer

from .logged import logged

SAID = ("My name is Robin and my wife is called Ana.", "We live in Boise.", "Our dog is called Biscuit.")


def texts(haru) -> list[str]:
    """What is remembered, in the alphabet's order."""
    return sorted(each["text"] for each in haru("memory", "list", "--all", "--json").json)


def set_aside(haru, turns: tuple[str, ...]) -> None:
    """Have turns given up on, as the writer does it."""
    record = SetAside(at=datetime.now(UTC), session="s-test", turns=turns, reason="reply-unusable")
    asyncio.run(Journal(haru.home / "journal.jsonl").append(record))


def test_the_writer_does_what_is_due_once(haru) -> None:
    """A session that ended is mined, a second run finds nothing, and scripts get figures."""
    logged(haru.home, *SAID)
    [outcome] = haru("writer", "--once", "--json").json
    assert (outcome["turns"], outcome["added"] >= 3, outcome["problem"]) == (3, True, "")
    assert "The user lives in Boise." in texts(haru)
    assert haru("writer", "--once", "--json").json == []
    assert "Nothing is due." in haru("writer", "--once").out


def test_set_aside_turns_can_be_run_again(haru) -> None:
    """They are listed with the reason, wait for nothing else, and are mined after `retry`."""
    [turn] = logged(haru.home, "We live in Boise.")
    set_aside(haru, (turn.id,))
    assert haru("writer", "--once", "--json").json == []
    assert haru("writer", "aside", "--json").json[0]["reason"] == "reply-unusable"
    assert "s-test" in haru("writer", "aside").out
    assert haru("writer", "retry", "s-other", "--json").json["turns"] == 0
    assert haru("writer", "retry", "--json").json == {"sessions": ["s-test"], "turns": 1}
    haru("writer", "--once")
    assert texts(haru) == ["The user lives in Boise."]
    assert "Nothing is set aside." in haru("writer", "aside").out


def test_two_writers_do_not_work_on_one_log(haru) -> None:
    """The second one says so and ends with an error; so does a rebuild."""
    haru.home.mkdir()
    fd = os.open(haru.home / "writer.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(fd, fcntl.LOCK_EX)
    try:
        for words in (("writer", "--once"), ("rebuild", "--yes")):
            ran = haru(*words)
            assert (ran.code, "another writer" in ran.out) == (2, True)
    finally:
        os.close(fd)


def test_a_lost_index_is_made_again(haru) -> None:
    """With the file deleted, a rebuild from the journal brings back every memory and finds by meaning as before."""
    logged(haru.home, *SAID)
    haru("writer", "--once")
    before = texts(haru)
    for file in haru.home.glob("index.db*"):
        file.unlink()
    assert texts(haru) == []
    rebuilt = haru("rebuild", "--yes", "--json").json
    assert (rebuilt["memories"], rebuilt["exact"]) == (len(before), True)
    assert texts(haru) == before
    assert haru("memory", "stats", "--json").json["vectors_lacking"] == 0


def test_a_damaged_index_is_replaced(haru) -> None:
    """A file that is no database is done away with, on request only, and made again."""
    haru("memory", "add", "Robin plays the cello.")
    for file in haru.home.glob("index.db*"):
        file.unlink()
    (haru.home / "index.db").write_bytes(b"rubbish " * 1000)
    assert "haru rebuild" in haru("memory", "list").out
    refused = haru("rebuild", typed="n\n")
    assert refused.code == 1
    assert (haru.home / "index.db").read_bytes().startswith(b"rubbish")
    assert haru("rebuild", "--yes", "--json").json["exact"]
    assert texts(haru) == ["Robin plays the cello."]


def test_a_rebuild_from_the_log_keeps_a_persons_hand(haru) -> None:
    """Everything is learned anew; what was added, edited, retired or forgotten by hand holds."""
    logged(haru.home, *SAID, "I had knee surgery in Gdansk.", "I am allergic to peanuts.")
    haru("writer", "--once")
    known = {each["text"]: each["id"] for each in haru("memory", "list", "--json").json}
    haru("memory", "add", "Robin plays the cello.")
    haru("memory", "edit", known["The user lives in Boise."], "--text", "The user lives in Denver.")
    haru("memory", "forget", known["The user is allergic to peanuts."], "--yes")
    haru("memory", "retire", next(key for text, key in known.items() if "Biscuit" in text))
    before = haru("memory", "list", "--all", "--json").json
    assert haru("rebuild", "--from-log", "--yes", "--json").json["memories"] == len(before)
    after = haru("memory", "list", "--all", "--json").json
    assert {(each["id"], each["text"], each["status"]) for each in after} == {
        (each["id"], each["text"], each["status"]) for each in before
    }
    assert not (haru.home / "rebuilding").exists()


def test_an_unanswered_rebuild_changes_nothing(haru) -> None:
    """From the log, it asks first and names the extractor."""
    logged(haru.home, *SAID)
    ran = haru("rebuild", "--from-log", typed="n\n")
    assert ran.code == 1
    assert "3 turns are mined again by careful rules" in ran.out
    assert texts(haru) == []


def test_the_doctor_finds_everything_well(haru) -> None:
    """On a healthy home every part but the missing model service is ok."""
    haru("memory", "add", "Robin plays the cello.")
    found = diagnosis(haru)
    assert {part for part, verdict in found.items() if verdict != "ok"} == {"model"}


def test_the_doctor_sees_what_is_wrong(haru) -> None:
    """Turns that wait, set-aside turns, an unreadable line, open files, lost memories: each is named."""
    [turn, _] = logged(haru.home, "We live in Boise.", "Our dog is called Biscuit.")
    set_aside(haru, (turn.id,))
    haru("memory", "add", "Robin plays the cello.")
    for file in haru.home.glob("index.db*"):
        file.unlink()
    log = next((haru.home / "log").iterdir())
    with log.open("ab") as file:
        file.write(b"not json\n")
    log.chmod(0o644)
    found = diagnosis(haru)
    assert {part: found[part] for part in ("writer", "journal", "chat log", "privacy", "index")} == {
        "writer": "warn",
        "journal": "warn",
        "chat log": "warn",
        "privacy": "warn",
        "index": "bad",
    }


def test_the_doctor_distrusts_the_clock(haru) -> None:
    """Turns that lie in the future show that the clock was set back, or is wrong."""
    logged(haru.home, "We live in Boise.")
    log = next((haru.home / "log").iterdir())
    log.write_text(log.read_text().replace('"at":"20', '"at":"21'))
    assert diagnosis(haru)["chat log"] == "warn"


def diagnosis(haru) -> dict[str, str]:
    """The doctor's verdict by part, with a model service that nobody runs."""
    ran = haru("doctor", "--json", HARU_LLM__URL="http://127.0.0.1:9/v1", HARU_LLM__MODEL="none")
    assert ran.code == 1
    return {each["part"]: each["verdict"] for each in ran.json}


async def test_a_writer_at_work_hears_of_a_retry(tmp_path: Path) -> None:
    """Turns that a running writer was done with, because they were set aside, are mined after a retry."""
    log = ChatLog(tmp_path / "log")
    turn = Turn(session="s-test", at=datetime(2026, 12, 1, tzinfo=UTC), said="We live in Boise.")
    await log.append(turn)
    await log.aclose()
    journal, index = Journal(tmp_path / "journal.jsonl"), InProcessIndex()
    await journal.append(SetAside(at=turn.at, session="s-test", turns=(turn.id,), reason="reply-unusable"))
    writer = Writer(tmp_path / "log", journal, index, RulesExtractor())
    assert await writer.once() == []
    await journal.append(Retry(at=turn.at, session="s-test", turns=(turn.id,)))
    assert [outcome.added for outcome in await writer.once()] == [1]
    assert await writer.once() == []
