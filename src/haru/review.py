"""Review: a person's look at the memories, and their hand on them. Every door calls this."""

from __future__ import annotations

import asyncio
import secrets
import shutil
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from haru import words
from haru.chatlog import Redaction, Turn, log_files
from haru.chatlog import parse as parse_turn
from haru.errors import HaruError, RecordError
from haru.forgotten import Forgotten, encoded, shares_turn, turns_of, unquoted, without_words
from haru.journal import Change, Entry, Journal, Verb
from haru.lines import Line, LineFile, decode
from haru.memory import HOUSEHOLD, Kind, Memory, Status
from haru.ports import Filters, Hits, MemoryIndex

DRAFT = "rebuilding"
"""Folder beside the journal in which a rebuild from the log stands until it is whole. A forget does away with it."""

_PAGE = 500


class NoSuchMemory(HaruError):
    """There is no memory with that id."""

    code = "no-such-memory"


@dataclass(frozen=True, slots=True)
class Explanation:
    """All that is known about one memory."""

    memory: Memory
    said_in: tuple[Turn, ...]
    """The turns it rests on, as far as the log still has them."""
    history: tuple[tuple[datetime, str, Change], ...]
    """When, by whom, what."""
    recalled_in: tuple[tuple[datetime, str], ...]
    """When it came up, and in which session."""


class Review:
    """Look, mend, retire, forget."""

    def __init__(
        self,
        index: MemoryIndex,
        journal: Journal,
        log: Path,
        forgotten: Forgotten,
        *,
        door: str,
        now: Callable[[], datetime],
    ) -> None:
        self._index = index
        self._journal = journal
        self._log = log
        self._forgotten = forgotten
        self._door = door
        self._now = now

    async def all(self, filters: Filters | None = None) -> AsyncIterator[Memory]:
        """Every memory that the filters let through, most important first."""
        async for memory in everything(self._index, filters or Filters(status=None)):
            yield memory

    async def find(self, query: str, *, size: int = 10, filters: Filters | None = None) -> Hits:
        """What recall would find, and, by the filters, retired memories too."""
        return await self._index.search(query, size=size, filters=filters or Filters())

    async def get(self, key: str) -> Memory:
        """One memory, by its id or by the beginning of it where that fits only one.

        Raises:
            NoSuchMemory: none, or several, have it.
        """
        found = await self._index.get([key])
        if found:
            return found[0]
        alike = [memory async for memory in self.all() if memory.id.startswith((key, f"mem-{key}"))]
        if len(alike) == 1:
            return alike[0]
        raise NoSuchMemory(
            f"no memory has the id {key}; `haru memory list` shows the ids"
            if not alike
            else f"{len(alike)} memories have ids that begin with {key}; give more of it"
        )

    async def explain(self, key: str) -> Explanation:
        """Where a memory comes from, what happened to it, and where it came up.

        Raises:
            NoSuchMemory: there is none.
        """
        memory = await self.get(key)
        wanted = turns_of(memory)

        def look() -> Explanation:
            said: list[Turn] = []
            recalled: list[tuple[datetime, str]] = []
            for _, _, turn in turns(self._log):
                if turn.id in wanted:
                    said.append(turn)
                if turn.receipt and any(each.id == memory.id for each in turn.receipt.recalled):
                    recalled.append((turn.at, turn.session))
            history = [
                (entry.at, entry.by, change)
                for _, entry in self._journal.read()
                if isinstance(entry, Entry)
                for change in entry.changes
                if change.id == memory.id
            ]
            return Explanation(memory, tuple(said), tuple(history), tuple(recalled))

        return await asyncio.to_thread(look)

    async def add(
        self,
        text: str,
        *,
        subject: str = "",
        kind: Kind = Kind.FACT,
        tags: Sequence[str] = (),
        importance: int | None = None,
    ) -> Memory:
        """A memory by a person's own hand.

        Raises:
            pydantic.ValidationError: the text is empty or too long.
        """
        now = self._now()
        memory = Memory(
            id=f"mem-{secrets.token_hex(8)}",
            text=text,
            subject=subject or _subject(text),
            kind=kind,
            tags=tuple(tags),
            importance=importance or kind.usual_importance,
            person=HOUSEHOLD,
            created_at=now,
            updated_at=now,
        )
        await self._commit([memory], "add", "by hand")
        return memory

    async def edit(self, key: str, **fields: object) -> Memory:
        """Change what a memory says. An edit holds: it is never undone by a rebuild."""
        return await self._change(key, "update", "edited by hand", **fields)

    async def retire(self, key: str, reason: str = "") -> Memory:
        """Take a memory out of recall; it can be restored."""
        return await self._change(key, "retire", reason or "retired by hand", status=Status.RETIRED)

    async def restore(self, key: str) -> Memory:
        """Let a retired memory be recalled again."""
        return await self._change(key, "restore", "restored by hand", status=Status.ACTIVE)

    async def take(self, memories: Sequence[Memory]) -> int:
        """Take memories in from an export; one that is there already is replaced. Returns how many were taken.

        What was forgotten since it was exported is left out.
        """
        taken = await asyncio.to_thread(lambda: [each for each in memories if not self._forgotten.covers(each)])
        if taken:
            await self._commit(taken, "import", "imported")
        return len(taken)

    async def forget(self, key: str) -> tuple[Memory, int]:
        """Remove a memory for good: index, journal, and the turns of the log that it rests on or that recite it.

        Memories that rest on the same turns stay, without the words of those turns. The tombstone comes first, the
        index last: whatever is interrupted, it will not come back, and doing it again finishes it.

        Returns:
            The memory, and how many turns lost their words.

        Raises:
            NoSuchMemory: there is none.
            IndexFailure: the words are gone from all files but the index; that follows when it answers again.
        """
        memory = await self.get(key)
        async with self._journal.changing(self._index) as changes:
            now = self._now()
            beside = [unquoted(each, memory) async for each in self.all() if shares_turn(each, memory)]
            await asyncio.to_thread(self._forgotten.add, memory, now)
            wiped = await asyncio.to_thread(self._wipe_log, memory, now)
            await asyncio.to_thread(self._wipe_journal, memory)
            await asyncio.to_thread(shutil.rmtree, self._journal.path.parent / DRAFT, ignore_errors=True)
            change = Change(verb="forget", id=memory.id)
            await changes.commit(
                Entry(at=now, by=self._door, puts=tuple(beside), erased=(memory.id,), changes=(change,))
            )
        return memory, wiped

    async def _change(self, key: str, verb: Verb, reason: str, **fields: object) -> Memory:
        memory = await self.get(key)
        async with self._journal.changing(self._index) as changes:
            still = await self._index.get([memory.id])  # another process may have changed it meanwhile
            if not still:
                raise NoSuchMemory(f"the memory {memory.id} was forgotten meanwhile")
            newest = still[0]
            if "text" in fields and newest.subject == _subject(newest.text):
                fields.setdefault("subject", _subject(str(fields["text"])))
            changed = newest.changed(updated_at=self._now(), **fields)
            change = Change(verb=verb, id=changed.id, reason=reason)
            await changes.commit(Entry(at=self._now(), by=self._door, puts=(changed,), changes=(change,)))
        return changed

    async def _commit(self, memories: list[Memory], verb: Verb, reason: str) -> None:
        made = tuple(Change(verb=verb, id=memory.id, reason=reason) for memory in memories)
        async with self._journal.changing(self._index) as changes:
            await changes.commit(Entry(at=self._now(), by=self._door, puts=tuple(memories), changes=made))

    def _wipe_journal(self, gone: Memory) -> None:
        """Overwrite every entry that holds the memory's text, or the words of a turn that it rests on."""
        file = LineFile(self._journal.path)
        for line, record in list(self._journal.read()):
            if isinstance(record, Entry) and any(gone.id == each.id or shares_turn(each, gone) for each in record.puts):
                left = {
                    **decode(line),
                    "puts": [
                        unquoted(each, gone).model_dump(mode="json") for each in record.puts if each.id != gone.id
                    ],
                    "changes": [
                        {**each.model_dump(), **({"reason": ""} if each.id == gone.id else {})}
                        for each in record.changes
                    ],
                }
                file.overwrite(line, encoded(left))

    def _wipe_log(self, memory: Memory, now: datetime) -> int:
        """Overwrite the words of turns that a memory rests on, and of those that recite it."""
        rests_on = turns_of(memory)
        heard_in = {each.session for each in memory.evidence}  # what was said there may be said back there
        telling = set(words.terms(memory.text))
        wiped: dict[Path, list[Redaction]] = {}
        for path, line, turn in list(turns(self._log)):
            came_up = turn.receipt and any(each.id == memory.id for each in turn.receipt.recalled)
            told = set(words.terms(f"{turn.said} {turn.reply}"))
            recites = 2 * len(told & telling) >= len(telling)
            if turn.id in rests_on or ((came_up or turn.session in heard_in) and recites):
                LineFile(path).overwrite(line, encoded(without_words(decode(line))))
                wiped.setdefault(path, []).append(Redaction(session=turn.session, turn=turn.id, at=now))
        for path, redactions in wiped.items():
            LineFile(path).append([each.model_dump_json().encode() for each in redactions])
        return sum(len(redactions) for redactions in wiped.values())


async def everything(index: MemoryIndex, filters: Filters) -> AsyncIterator[Memory]:
    """All that an index holds and the filters let through, most important first, page by page."""
    cursor: str | None = None
    while True:
        page = await index.page(cursor=cursor, limit=_PAGE, filters=filters)
        for memory in page.memories:
            yield memory
        cursor = page.cursor
        if cursor is None:
            return


def _subject(text: str) -> str:
    """What a sentence is about, where nobody says."""
    return " ".join(words.content(text)[:3])


def turns(log: Path) -> Iterator[tuple[Path, Line, Turn]]:
    """Every readable turn of a log, with where it stands. Blocks."""
    for name in sorted(log_files(log)):
        path = log / name
        for line in LineFile(path).read():
            try:
                record = parse_turn(line)
            except RecordError:
                continue
            if isinstance(record, Turn):
                yield path, line, record
