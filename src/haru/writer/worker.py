"""Writer: follows the chat log and turns it into memories, in a process of its own.

It touches nothing that a conversation waits for. Whatever fails, nothing that was said is lost: a batch is either
done, with its entry in the journal, or it is tried again.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from haru.chatlog import ChatLogReader, Problem, Turn, read_turn
from haru.errors import HaruError, IndexFailure, LogUnwritable
from haru.forgotten import Forgotten
from haru.journal import Entry, Journal, Retry, SetAside
from haru.memory import Record
from haru.ports import MemoryIndex
from haru.writer import prompt
from haru.writer.apply import Plan, touched
from haru.writer.batch import Batch, Extractor, Proposal
from haru.writer.due import Backlogs, DueRule, Waiting
from haru.writer.progress import Progress, after_failure, blames_the_batch, outage_pause_s
from haru.writer.related import related

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WriterSettings:
    """How the writer works."""

    rule: DueRule = field(default_factory=DueRule)
    poll_s: float = 20.0
    related: int = 40
    prompt_chars: int = prompt.MAX_CHARS


class Outcome(Record):
    """What became of one batch. Holds no words."""

    session: str
    turns: int
    added: int = 0
    updated: int = 0
    retired: int = 0
    helped: int = 0
    dropped: tuple[str, ...] = ()
    """Verb and reason of each operation that was not carried out."""
    problem: str = ""
    """Why the batch failed, as an error's code; empty where it is done."""
    seconds: float = 0.0


class WriterBusy(HaruError):
    """Another writer is at work on the same log."""

    code = "writer-busy"


class Writer:
    """One writer over one log, journal and index."""

    def __init__(
        self,
        log: Path,
        journal: Journal,
        index: MemoryIndex,
        extractor: Extractor,
        settings: WriterSettings | None = None,
        *,
        forgotten: Forgotten | None = None,
        now: Callable[[], datetime] = lambda: datetime.now().astimezone(),
    ) -> None:
        self.settings = settings or WriterSettings()
        self._log = log
        self._journal = journal
        self._index = index
        self._extractor = extractor
        self._forgotten = forgotten
        self._now = now
        self._reader = ChatLogReader(log)
        self._progress = Progress()
        self._journal_read = 0
        self._backlogs = Backlogs(self.settings.rule)
        self._looked_at: datetime | None = None
        self._outages = 0
        self._paused_until: datetime | None = None

    @property
    def backlog(self) -> int:
        """Turns that wait."""
        return len(self._backlogs)

    async def run(self, stop: asyncio.Event, told: Callable[[Outcome], None] = lambda _: None) -> None:
        """Work until ``stop`` is set; the batch in hand is finished first. ``told`` hears of each batch."""
        while not stop.is_set():
            for outcome in await self.once():
                told(outcome)
            try:
                await asyncio.wait_for(stop.wait(), self.settings.poll_s)
            except TimeoutError:
                continue

    async def once(self) -> list[Outcome]:
        """Do all that is due now."""
        outcomes: list[Outcome] = []
        if self._paused_until and self._now() < self._paused_until:
            return outcomes
        try:
            await asyncio.to_thread(self._catch_up)
            async with self._journal.changing(self._index):
                pass  # what a crash left between journal and index is finished first
        except HaruError as error:
            return [self._outage("", 0, error, 0.0)]
        tried: set[str] = set()
        while ready := [each for each in self._backlogs.due(self._progress, self._now()) if each not in tried]:
            outcome = await self._batch(ready[0])
            outcomes.append(outcome)
            if outcome.problem:
                tried.add(ready[0])  # others first; it has its own pause
                if self._paused_until:
                    break
        return outcomes

    # -- reading

    def _catch_up(self) -> None:
        for line, record in self._journal.read(self._journal_read):
            self._journal_read = line.end
            self._progress.take(record)
            if isinstance(record, Retry) and self._looked_at:  # turns that were done wait again
                self._reader = ChatLogReader(self._log)
                self._backlogs = Backlogs(self.settings.rule)
                self._looked_at = None
        now = self._now()
        between = (self._looked_at, now) if self._looked_at else None
        for place, record in self._reader.poll():
            if isinstance(record, Problem):
                logger.warning("chat log: passed over %s", record)
            else:
                self._backlogs.take(place, record, self._progress, between)
        self._looked_at = now
        self._backlogs.settle(self._progress)

    def _turns(self, waiting: list[Waiting]) -> list[Turn]:
        found = (read_turn(self._log, each.place) for each in waiting)
        return [turn for turn in found if turn and minable(turn)]

    def _context(self, session: str) -> list[Turn]:
        found = (read_turn(self._log, place) for place in self._backlogs.context(session))
        return [turn for turn in found if turn and minable(turn)]

    # -- one batch

    async def _batch(self, session: str) -> Outcome:
        began = time.perf_counter()
        waiting = self._backlogs.next_batch(session, self._progress, self._now())
        turns = await asyncio.to_thread(self._turns, waiting)
        while not prompt.fits(turns, self.settings.prompt_chars):
            waiting = waiting[: (len(waiting) + 1) // 2]
            kept = {each.id for each in waiting}
            turns = [turn for turn in turns if turn.id in kept]
        keys = tuple(each.id for each in waiting)
        try:
            entry = await self._entry(session, keys, turns)
        except HaruError as error:
            return await self._failed(session, keys, error, time.perf_counter() - began)
        self._outages, self._paused_until = 0, None
        return _told(entry, time.perf_counter() - began)

    async def _entry(self, session: str, keys: tuple[str, ...], turns: list[Turn]) -> Entry:
        batch = Batch(session=session, turns=tuple(turns), now=self._now())
        proposal = Proposal()
        if turns:  # nothing to look at costs no call
            known = await related(self._index, turns, self.settings.related)
            context = await asyncio.to_thread(self._context, session)
            batch = batch.model_copy(update={"related": tuple(known), "context": tuple(context)})
            proposal = await self._extractor.extract(batch)
        async with self._journal.changing(self._index) as changes:
            current = {memory.id: memory for memory in await self._index.get(touched(batch, proposal))}
            plan = Plan(batch, proposal, current, self._forgotten, self._now())
            entry = plan.entry(turns=keys, extractor=self._extractor.id)
            try:
                await changes.commit(entry)
            except IndexFailure as error:
                # It is journalled: done, though not yet searchable. The next change brings it to the index.
                logger.warning("the index takes nothing now (%s); what was learned is kept in the journal", error.code)
        await asyncio.to_thread(self._catch_up)
        return entry

    async def _failed(self, session: str, keys: tuple[str, ...], error: HaruError, seconds: float) -> Outcome:
        if not blames_the_batch(error):
            return self._outage(session, len(keys), error, seconds)
        next_step = after_failure(session, keys, self._progress.failures.get(session, 0), error, self._now())
        try:
            await self._journal.append(next_step)
        except LogUnwritable as full:
            return self._outage(session, len(keys), full, seconds)
        if isinstance(next_step, SetAside):
            logger.error("%d turns of %s are set aside (%s): `haru writer retry`", len(keys), session, error.code)
        else:
            logger.warning("a batch of %s failed (%s) and is tried again", session, error.code)
        await asyncio.to_thread(self._catch_up)
        return Outcome(session=session, turns=len(keys), problem=error.code, seconds=round(seconds, 3))

    def _outage(self, session: str, turns: int, error: HaruError, seconds: float) -> Outcome:
        """A service is down: everything waits, and nothing counts against the batch."""
        self._outages += 1
        wait_s = outage_pause_s(error, self._outages)
        self._paused_until = self._now() + timedelta(seconds=wait_s)
        logger.warning("the writer waits %.0f s: %s", wait_s, error)
        return Outcome(session=session, turns=turns, problem=error.code, seconds=round(seconds, 3))


def minable(turn: Turn) -> bool:
    """Whether a turn may be learned from: not Haru's own voice, noise, other people's talk, or off the record."""
    return turn.mark == "" and not turn.off_record and turn.addressed is not False and bool(turn.said.strip())


@contextmanager
def alone(lock: Path) -> Generator[None]:
    """Be the only writer. The lock goes with the process, however that ends; nothing is left to clean up.

    Raises:
        WriterBusy: another one is at work.
    """
    fd = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise WriterBusy("another writer is at work on this log") from None
        yield
    finally:
        os.close(fd)


def _told(entry: Entry, seconds: float) -> Outcome:
    verbs = [change.verb for change in entry.changes]
    return Outcome(
        session=entry.session,
        turns=len(entry.turns),
        added=verbs.count("add"),
        updated=verbs.count("update"),
        retired=verbs.count("retire"),
        helped=verbs.count("use"),
        dropped=tuple(f"{each.verb}: {each.reason}" for each in entry.dropped),
        seconds=round(seconds, 3),
    )
