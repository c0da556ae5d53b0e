"""Due: which turns wait for the writer, and which session's turn it is. Keeps places, never words. No I/O."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from haru.chatlog import LogRecord, Place, SessionEnd, Turn
from haru.writer.progress import Progress

RUN_S = 3.0
"""Utterances closer together than this, the first without a reply, are parts of one: they stay in one batch."""


@dataclass(frozen=True, slots=True)
class DueRule:
    """When a session is taken up."""

    quiet_s: float = 120.0
    turns: int = 20
    """New turns after which it is due in any case; also the largest batch."""
    context_turns: int = 6
    """Turns just before a batch that are shown for understanding."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A turn that waits: its id and where it stands."""

    id: str
    place: Place
    at: datetime
    answered: bool


@dataclass(slots=True)
class Backlog:
    """One session's."""

    before: deque[Place]
    """The newest turns that are done, as many as are shown for understanding."""
    waiting: dict[str, Waiting] = field(default_factory=dict[str, Waiting])
    active_at: datetime | None = None
    ended: bool = False


class Backlogs:
    """All sessions', fed from the log as it grows."""

    def __init__(self, rule: DueRule) -> None:
        self.rule = rule
        self._sessions: dict[str, Backlog] = {}

    def __len__(self) -> int:
        return sum(len(backlog.waiting) for backlog in self._sessions.values())

    def take(
        self, place: Place, record: LogRecord, progress: Progress, between: tuple[datetime, datetime] | None
    ) -> None:
        """One more record of the log.

        Args:
            place: where it stands.
            record: what it says.
            progress: which turns are done.
            between: the last look at the log and this one; ``None`` where nobody watched it being written.
        """
        if isinstance(record, SessionEnd):
            self._of(record.session).ended = True
        if not isinstance(record, Turn):
            return
        backlog = self._of(record.session)
        if record.id in progress.done:
            backlog.before.append(place)
            return
        backlog.waiting[record.id] = Waiting(record.id, place, record.at, bool(record.reply))
        # A clock may be wrong; that it was written between two looks is sure.
        doubtful = between is not None and not between[0] <= record.at <= between[1]
        backlog.active_at = between[1] if between and doubtful else record.at
        backlog.ended = False

    def settle(self, progress: Progress) -> None:
        """Turns that are done wait no longer."""
        for backlog in self._sessions.values():
            for key in [key for key in backlog.waiting if key in progress.done]:
                backlog.before.append(backlog.waiting.pop(key).place)

    def due(self, progress: Progress, now: datetime) -> list[str]:
        """Sessions whose turn it is, the one that has waited longest first."""
        found = [
            (backlog.active_at or now, session)
            for session, backlog in self._sessions.items()
            if backlog.waiting and self._is_due(session, backlog, progress, now)
        ]
        return [session for _, session in sorted(found)]

    def next_batch(self, session: str, progress: Progress, now: datetime) -> list[Waiting]:
        """The turns to look at together: those that failed before as they were split, else the oldest ones."""
        backlog = self._of(session)
        attempt = progress.attempts.get(session)
        if attempt and (again := [backlog.waiting[key] for key in attempt.turns if key in backlog.waiting]):
            return again
        turns = list(backlog.waiting.values())
        cut = len(turns) if self._is_quiet(backlog, now) else self._before_last_run(turns)
        cut = min(cut, self.rule.turns)
        while 1 < cut < len(turns) and _one_run(turns[cut - 1], turns[cut]):
            cut -= 1
        return turns[: max(cut, 1)]

    def context(self, session: str) -> list[Place]:
        """Where the turns just before the next batch stand."""
        return list(self._of(session).before)

    def _is_due(self, session: str, backlog: Backlog, progress: Progress, now: datetime) -> bool:
        attempt = progress.attempts.get(session)
        if attempt:
            return attempt.next_at <= now
        return self._is_quiet(backlog, now) or len(backlog.waiting) >= self.rule.turns

    def _is_quiet(self, backlog: Backlog, now: datetime) -> bool:
        if backlog.ended or backlog.active_at is None:
            return True
        silence = now - backlog.active_at
        # A time far ahead is a clock that was set back since: it must not make the session wait for it.
        return silence >= timedelta(seconds=self.rule.quiet_s) or silence < -timedelta(seconds=self.rule.quiet_s)

    def _before_last_run(self, turns: list[Waiting]) -> int:
        """While somebody still speaks, the last run of words may go on: it is left for the next batch."""
        if turns[-1].answered:
            return len(turns)
        cut = len(turns) - 1
        while cut > 0 and _one_run(turns[cut - 1], turns[cut]):
            cut -= 1
        return cut or len(turns)

    def _of(self, session: str) -> Backlog:
        return self._sessions.setdefault(session, Backlog(deque[Place](maxlen=self.rule.context_turns)))


def _one_run(one: Waiting, next_one: Waiting) -> bool:
    return not one.answered and timedelta(0) <= next_one.at - one.at < timedelta(seconds=RUN_S)
