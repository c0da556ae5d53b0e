"""Review: a person's look at the memories, and their hand on them. Every door calls this."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import cast

from haru import words
from haru.chatlog import Redaction, Turn, log_files
from haru.chatlog import parse as parse_turn
from haru.errors import HaruError, RecordError
from haru.forgotten import Forgotten
from haru.journal import Change, Entry, Journal, Verb
from haru.lines import Line, LineFile, decode
from haru.memory import HOUSEHOLD, Kind, Memory, Status
from haru.ports import Filters, Hits, MemoryIndex

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
        cursor: str | None = None
        while True:
            page = await self._index.page(cursor=cursor, limit=_PAGE, filters=filters or Filters(status=None))
            for memory in page.memories:
                yield memory
            cursor = page.cursor
            if cursor is None:
                return

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
        wanted = _turns_of(memory)

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
            subject=subject or " ".join(words.content(text)[:3]),
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
            beside = [_unquoted(each, memory) async for each in self.all() if _shares_turn(each, memory)]
            await asyncio.to_thread(self._forgotten.add, memory, now)
            wiped = await asyncio.to_thread(self._wipe_log, memory, now)
            await asyncio.to_thread(self._wipe_journal, memory)
            change = Change(verb="forget", id=memory.id)
            await changes.commit(
                Entry(at=now, by=self._door, puts=tuple(beside), erased=(memory.id,), changes=(change,))
            )
        return memory, wiped

    async def _change(self, key: str, verb: Verb, reason: str, **fields: object) -> Memory:
        memory = await self.get(key)
        async with self._journal.changing(self._index) as changes:
            newest = (await self._index.get([memory.id]))[0]  # another process may have changed it meanwhile
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
            if isinstance(record, Entry) and any(
                gone.id == each.id or _shares_turn(each, gone) for each in record.puts
            ):
                left = {
                    **decode(line),
                    "puts": [
                        _unquoted(each, gone).model_dump(mode="json") for each in record.puts if each.id != gone.id
                    ],
                    "changes": [
                        {**each.model_dump(), **({"reason": ""} if each.id == gone.id else {})}
                        for each in record.changes
                    ],
                }
                file.overwrite(line, _encoded(left))

    def _wipe_log(self, memory: Memory, now: datetime) -> int:
        """Overwrite the words of turns that a memory rests on, and of those that recite it."""
        rests_on = _turns_of(memory)
        telling = set(words.terms(memory.text))
        wiped: dict[Path, list[Redaction]] = {}
        for path, line, turn in list(turns(self._log)):
            came_up = turn.receipt and any(each.id == memory.id for each in turn.receipt.recalled)
            told = set(words.terms(f"{turn.said} {turn.reply}"))
            if turn.id in rests_on or (came_up and 2 * len(told & telling) >= len(telling)):
                LineFile(path).overwrite(line, _encoded(without_words(decode(line))))
                wiped.setdefault(path, []).append(Redaction(session=turn.session, turn=turn.id, at=now))
        for path, redactions in wiped.items():
            LineFile(path).append([each.model_dump_json().encode() for each in redactions])
        return sum(len(redactions) for redactions in wiped.values())


def without_words(turn: Mapping[str, object]) -> dict[str, object]:
    """A turn's record of which only the fact is left that it took place. Never longer than it was."""
    left = {key: value for key, value in turn.items() if key not in {"findings", "receipt"}}
    left |= {key: "" for key in ("said", "reply", "spoken") if key in left}
    receipt = turn.get("receipt")
    if isinstance(receipt, Mapping):
        left["receipt"] = {key: value for key, value in cast("Mapping[str, object]", receipt).items() if key != "query"}
    return left


def _encoded(record: Mapping[str, object]) -> bytes:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()


def _turns_of(memory: Memory) -> set[str]:
    return {turn for each in memory.evidence for turn in each.turns}


def _shares_turn(memory: Memory, other: Memory) -> bool:
    return memory.id != other.id and bool(_turns_of(memory) & _turns_of(other))


def _unquoted(memory: Memory, gone: Memory) -> Memory:
    """A memory without its quotes from turns that a forgotten one rests on too: they may hold its words."""
    if not _shares_turn(memory, gone):
        return memory
    shared = _turns_of(gone)
    evidence = tuple(
        each.model_copy(update={"quote": ""}) if shared & set(each.turns) else each for each in memory.evidence
    )
    return memory.model_copy(update={"evidence": evidence})


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
