"""A writer that kills itself, hard, at its N-th step. Run by test_writer_killed.py as a process of its own.

Steps are the moments around every write: before it, in the middle of a journal line, and after it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from haru.embed.static import StaticEmbedder
from haru.index.sqlite import SqliteIndex
from haru.journal import Journal, JournalRecord
from haru.memory import Feedback, Memory
from haru.testing.model import ScriptedModel
from haru.writer.extract import ModelExtractor
from haru.writer.worker import Writer, alone

KILL_AT = int(sys.argv[2])
ANSWER = sys.argv[3]
steps = 0


def step() -> bool:
    """One moment further; the last one of this process where it is the chosen one."""
    global steps  # noqa: PLW0603 - it counts for the whole process
    steps += 1
    return steps == KILL_AT


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class KillingJournal(Journal):
    """Dies before, within, and after a line."""

    async def append(self, record: JournalRecord) -> None:
        if step():
            die()
        if step():
            line = record.model_dump_json().encode()
            with self.path.open("ab") as file:
                file.write(line[: len(line) // 2])
            die()
        await super().append(record)
        if step():
            die()


class KillingIndex(SqliteIndex):
    """Dies before and after every write."""

    async def put(self, memories: Sequence[Memory]) -> None:
        if step():
            die()
        await super().put(memories)
        if step():
            die()

    async def feedback(self, event: Feedback) -> None:
        if step():
            die()
        await super().feedback(event)
        if step():
            die()


async def main(home: Path) -> None:
    index = KillingIndex(home / "index.db", StaticEmbedder())

    def answer(_: object) -> str:
        with (home / "asked").open("a") as file:
            file.write("x")
        return (home / ANSWER).read_text()

    journal = KillingJournal(home / "journal.jsonl")
    extractor = ModelExtractor(ScriptedModel(answer))
    writer = Writer(home / "log", journal, index, extractor, now=lambda: datetime(2026, 12, 2, tzinfo=UTC))
    with alone(home / "writer.lock"):
        await writer.once()
    await index.aclose()


asyncio.run(main(Path(sys.argv[1])))
