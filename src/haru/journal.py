"""Journal: every change to the memories, written before the index is touched.

One file of JSON lines. An entry holds the memories as they are after the change, so that writing it to the
index twice changes nothing, and so that replaying the file makes the same index again, with no model. It also
holds which turns it is done with: the journal *is* the writer's progress, and the two cannot disagree.

Changes are made one at a time, under a lock that the kernel releases when a process dies. Whoever takes it first
finishes what a crashed process had journalled and not yet brought to the index.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import secrets
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from haru.errors import LogUnwritable, RecordError
from haru.lines import Line, LineFile, decode
from haru.memory import Feedback, Memory, Record, UtcTime
from haru.ports import MemoryIndex

_LOCK_POLL_S = 0.01

Verb = Literal["add", "update", "retire", "restore", "use", "forget", "import"]


class Change(Record):
    """What was done to one memory, and why."""

    verb: Verb
    id: str
    reason: str = ""


class Dropped(Record):
    """An operation that was not carried out. Holds no words of it: it may have been a secret."""

    verb: str
    reason: str
    id: str = ""


class Entry(Record):
    """One change, complete in itself."""

    kind: Literal["entry"] = "entry"
    id: str = Field(default_factory=lambda: f"j-{secrets.token_hex(8)}")
    at: UtcTime
    by: str
    """``writer``, or the door a person used."""
    session: str = ""
    turns: tuple[str, ...] = ()
    """Turns that are done with this entry."""
    puts: tuple[Memory, ...] = ()
    """Memories as they are afterwards."""
    erased: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    feedback: tuple[Feedback, ...] = ()
    relevant: tuple[str, ...] = ()
    """Ids of memories that helped in these turns."""
    dropped: tuple[Dropped, ...] = ()
    extractor: str = ""
    """Name of the model or rules that proposed it."""


class Applied(Record):
    """An entry has reached the index."""

    kind: Literal["applied"] = "applied"
    entry: str


class Attempt(Record):
    """A batch failed; these turns are tried again, no earlier than ``next_at``."""

    kind: Literal["attempt"] = "attempt"
    at: UtcTime
    session: str
    turns: tuple[str, ...]
    failures: int
    """How many tries of these turns have failed that count towards setting them aside."""
    next_at: UtcTime
    reason: str


class SetAside(Record):
    """These turns were given up on; they are kept, with the reason, and can be run again."""

    kind: Literal["set-aside"] = "set-aside"
    at: UtcTime
    session: str
    turns: tuple[str, ...]
    reason: str
    failures: int = 0
    """Failures of the session in a row, this one counted."""


class Retry(Record):
    """A person asked that set-aside turns are tried again."""

    kind: Literal["retry"] = "retry"
    at: UtcTime
    session: str
    turns: tuple[str, ...]


JournalRecord = Entry | Applied | Attempt | SetAside | Retry
_RECORD: TypeAdapter[JournalRecord] = TypeAdapter(Annotated[JournalRecord, Field(discriminator="kind")])


class Journal:
    """The append-only record of changes."""

    def __init__(self, path: Path, *, sync: bool = True) -> None:
        self.path = path
        self._file = LineFile(path, sync=sync)
        self._checked = 0  # everything before this byte is known to have reached the index
        self.problems = 0
        """Lines passed over while reading."""

    def read(self, start: int = 0) -> Iterator[tuple[Line, JournalRecord]]:
        """Every readable record from byte ``start``. Blocks.

        Raises:
            LogUnwritable: the file can't be read at all.
        """
        try:
            for line in self._file.read(start):
                try:
                    yield line, parse(line)
                except RecordError:
                    self.problems += 1
        except FileNotFoundError:
            return
        except OSError as error:
            raise LogUnwritable(f"cannot read {self.path}: {error.strerror}") from error

    async def append(self, record: JournalRecord) -> None:
        """Add one record; it stands on the disk when this returns.

        Raises:
            LogUnwritable: the disk takes nothing now; nothing was changed.
        """
        await asyncio.to_thread(self._file.append, [record.model_dump_json().encode()])

    @asynccontextmanager
    async def changing(self, index: MemoryIndex) -> AsyncGenerator[Changes]:
        """Be the only one who changes memories; first finish what a crash left half done.

        Read the memories inside, decide, and `Changes.commit` once or more.

        Raises:
            LogUnwritable: the lock or the journal cannot be written.
            IndexFailure: an earlier entry still cannot be brought to the index.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fd = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise LogUnwritable(f"cannot lock {self.path}: {error.strerror}") from error
        try:
            while not _locked(fd):
                await asyncio.sleep(_LOCK_POLL_S)
            changes = Changes(self, index)
            await changes.recover()
            yield changes
        finally:
            os.close(fd)

    def pending(self) -> list[Entry]:
        """Entries that have not reached the index, oldest first. Blocks."""
        waiting: dict[str, Entry] = {}
        end = self._checked
        for line, record in self.read(self._checked):
            end = line.end
            if isinstance(record, Entry):
                waiting[record.id] = record
            elif isinstance(record, Applied):
                waiting.pop(record.entry, None)
        if not waiting:
            self._checked = end
        return list(waiting.values())


class Changes:
    """The right to change memories, held inside `Journal.changing`."""

    def __init__(self, journal: Journal, index: MemoryIndex) -> None:
        self._journal = journal
        self._index = index

    async def commit(self, entry: Entry) -> None:
        """Journal a change, then bring it to the index.

        Raises:
            LogUnwritable: nothing was changed.
            IndexFailure: the change is journalled and will reach the index when next somebody changes memories.
        """
        await self._journal.append(entry)
        await self._apply(entry)

    async def recover(self) -> None:
        """Bring to the index what was journalled before a crash or an outage."""
        for entry in await asyncio.to_thread(self._journal.pending):
            await self._apply(entry)

    async def _apply(self, entry: Entry) -> None:
        if entry.puts:
            await self._index.put(entry.puts)
        if entry.erased:
            await self._index.erase(entry.erased)
        for event in entry.feedback:
            await self._index.feedback(event)
        await self._journal.append(Applied(entry=entry.id))


def replay(records: Iterator[tuple[Line, JournalRecord]]) -> dict[str, Memory]:
    """The memories that a journal adds up to, by id, in the order in which they were first put."""
    memories: dict[str, Memory] = {}
    for _, record in records:
        if isinstance(record, Entry):
            for memory in record.puts:
                memories[memory.id] = memory
            for gone in record.erased:
                memories.pop(gone, None)
    return memories


def parse(line: Line) -> JournalRecord:
    """The record on a line.

    Raises:
        RecordError: it is none.
    """
    try:
        return _RECORD.validate_python(decode(line))
    except ValidationError:
        raise RecordError("not a journal record") from None


def _locked(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
