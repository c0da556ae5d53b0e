"""`kill -9` at every step of a batch: afterwards nothing is lost, doubled or half-written."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from haru.chatlog import Turn
from haru.embed.static import StaticEmbedder
from haru.index.sqlite import SqliteIndex
from haru.journal import Journal, replay
from haru.lines import LineFile
from haru.memory import Memory, SearchRef, Status
from haru.ports import Filters
from haru.receipt import Recalled, Receipt
from haru.writer.progress import Progress

CHILD = Path(__file__).with_name("writer_child.py")
AT = datetime(2026, 12, 1, 18, 0, tzinfo=UTC)
REF = SearchRef(query_id="q-1", session_id="household")
HOME = Memory(id="mem-home", text="The user lives in Boise.", created_at=AT, updated_at=AT)
CAR = Memory(id="mem-car", text="The user owns a red car.", created_at=AT, updated_at=AT)
TURNS = (
    Turn(
        id="t-1", session="s-1", at=AT, said="We moved, we live in Denver now, and I sold my red car.", reply="Nice!",
        receipt=Receipt(
            budget_ms=250, elapsed_ms=1, waited_ms=1, outcome="search",
            recalled=(Recalled(id="mem-home", source="search", score=1.0, position=2, ref=REF),),
        ),
    ),
    Turn(id="t-2", session="s-1", at=AT, said="My dog is called Biscuit.", reply="Lovely."),
)  # fmt: skip


def answer(text: str) -> str:
    return json.dumps({
        "add": [{"text": text, "subject": "dog Biscuit", "kind": "fact", "tags": ["dog"], "importance": 4}],
        "update": [{"id": "mem-home", "text": "The user lives in Denver."}],
        "retire": [{"id": "mem-car", "reason": "sold"}],
        "relevant": ["mem-home"],
    })  # fmt: skip


async def household(home: Path) -> None:
    """A log with two turns that nobody has mined, and what was known before."""
    index = SqliteIndex(home / "index.db", StaticEmbedder())
    await index.put([HOME, CAR])
    await index.aclose()
    LineFile(home / "log" / "chat-2026-12-01.jsonl").append([turn.model_dump_json().encode() for turn in TURNS])
    (home / "first").write_text(answer("The user's dog is called Biscuit."))
    (home / "again").write_text(answer("Biscuit is the name of the user's dog."))


def write(home: Path, kill_at: int, reply: str) -> int:
    return subprocess.run([sys.executable, str(CHILD), str(home), str(kill_at), reply], check=False).returncode


async def check(home: Path) -> None:
    """What must be true however often the writer died."""
    index = SqliteIndex(home / "index.db", StaticEmbedder())
    memories = {each.id: each for each in (await index.page(filters=Filters(status=None))).memories}
    assert await index.check() == []
    await index.aclose()
    dogs = [each for each in memories.values() if "Biscuit" in each.text]
    assert len(dogs) == 1
    assert len(memories) == 3
    assert memories["mem-home"].text == "The user lives in Denver."
    assert memories["mem-home"].use_count == 1
    assert memories["mem-car"].status is Status.RETIRED
    db = sqlite3.connect(home / "index.db")
    assert db.execute("SELECT memory_id, query_id, position FROM feedback").fetchall() == [("mem-home", "q-1", 2)]
    db.close()
    progress = Progress()
    journal = Journal(home / "journal.jsonl")
    for _, record in journal.read():
        progress.take(record)
    assert progress.done == {"t-1", "t-2"}
    assert journal.pending() == []
    assert replay(journal.read()) == memories


@pytest.mark.parametrize("again", ["first", "again"])
async def test_killed_at_every_step(tmp_path: Path, again: str) -> None:
    """Walks through all steps, whether the model says the same the next time or the same in other words."""
    for kill_at in range(1, 100):
        home = tmp_path / str(kill_at)
        home.mkdir()
        await household(home)
        code = write(home, kill_at, "first")
        if code == 0:
            assert kill_at > 10, "the walk found too few steps to die at"
            break
        assert code == -signal.SIGKILL
        asked_before = len((home / "asked").read_text()) if (home / "asked").exists() else 0
        journalled = any(record.kind == "entry" for _, record in Journal(home / "journal.jsonl").read())
        assert write(home, 0, again) == 0
        if journalled:
            assert len((home / "asked").read_text()) == asked_before, "the model was asked again"
        await check(home)
    else:
        pytest.fail("the writer never came to its end")
    await check(home)


async def test_killed_again_and_again(tmp_path: Path) -> None:
    """A machine that loses power at each try still gets there."""
    await household(tmp_path)
    for kill_at in (2, 3, 5, 4, 6, 3, 5):
        write(tmp_path, kill_at, "first")
    assert write(tmp_path, 0, "again") == 0
    await check(tmp_path)
