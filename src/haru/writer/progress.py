"""Progress: which turns are done, which wait after a failure, and which were set aside. A fold over the journal.

Turns are known by their ids. Counts and positions would point at other turns after retention, a cut file or a clock
set back. What to do after a failure is decided here too; time is an argument.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from haru.errors import ContextOverflow, HaruError, IndexBusy, ModelBusy, ReplyUnusable
from haru.journal import Attempt, Entry, JournalRecord, Retry, SetAside

MOST_FAILURES = 8
"""Unusable answers in a row, of a session, until its batch is set aside."""
WHOLE_TRIES = 2
"""Tries of a batch as it is, before it is split."""
LONGEST_BUSY_S = 120.0
LONGEST_PAUSE_S = 3600.0


@dataclass(slots=True)
class Progress:
    """What the journal says about turns."""

    done: set[str] = field(default_factory=set[str])
    aside: dict[str, SetAside] = field(default_factory=dict[str, SetAside])
    """By session: the newest batch that was given up on."""
    attempts: dict[str, Attempt] = field(default_factory=dict[str, Attempt])
    """By session: the batch that failed and is tried again."""
    failures: dict[str, int] = field(default_factory=dict[str, int])
    """By session: unusable answers in a row."""

    def take(self, record: JournalRecord) -> None:
        """Go one record further."""
        match record:
            case Entry():
                self.done.update(record.turns)
                if record.turns:
                    self.attempts.pop(record.session, None)
                    self.failures.pop(record.session, None)
            case Attempt():
                self.attempts[record.session] = record
                self.failures[record.session] = record.failures
            case SetAside():
                before = self.aside.get(record.session)
                turns = (before.turns if before else ()) + record.turns
                self.aside[record.session] = record.model_copy(update={"turns": tuple(dict.fromkeys(turns))})
                self.done.update(record.turns)
                self.attempts.pop(record.session, None)
                self.failures[record.session] = record.failures
            case Retry():
                self.done.difference_update(record.turns)
                self.failures.pop(record.session, None)
                self.aside.pop(record.session, None)
                self.attempts.pop(record.session, None)
            case _:
                pass


def after_failure(
    session: str, turns: tuple[str, ...], before: int, error: HaruError, now: datetime
) -> Attempt | SetAside:
    """What becomes of a batch whose answer was of no use: tried again later, in halves, or set aside.

    ``before`` counts the session's failures in a row so far. One bad turn among good ones is found by halving; a
    session of which nothing works is given up on before that has cost a dozen calls.
    """
    failures = before + 1
    hopeless = isinstance(error, ContextOverflow) or failures > WHOLE_TRIES + 1
    if failures >= MOST_FAILURES or (len(turns) == 1 and hopeless):
        return SetAside(at=now, session=session, turns=turns, reason=error.code, failures=failures)
    split = isinstance(error, ContextOverflow) or failures >= WHOLE_TRIES
    wait_s = 0.0 if isinstance(error, ContextOverflow) else pause_s(failures)
    return Attempt(
        at=now,
        session=session,
        turns=turns[: (len(turns) + 1) // 2] if split else turns,
        failures=failures,
        next_at=now + timedelta(seconds=wait_s),
        reason=error.code,
    )


def blames_the_batch(error: HaruError) -> bool:
    """Whether a failure may lie in the batch itself. A service that is down or busy is no reason to give up on it."""
    return isinstance(error, ReplyUnusable | ContextOverflow)


def outage_pause_s(error: HaruError, outages: int) -> float:
    """How long everything waits for a service that is down or busy, in seconds.

    At least what it asked for, but no more than two minutes; growing where it said nothing.
    """
    if isinstance(error, ModelBusy | IndexBusy):
        asked = error.retry_after_s
        return min(max(asked if asked is not None else pause_s(outages) / 30.0, 1.0), LONGEST_BUSY_S)
    return pause_s(outages)


def pause_s(failures: int) -> float:
    """1, 2, 4 … minutes, at most an hour."""
    return min(60.0 * 2.0 ** (max(failures, 1) - 1), LONGEST_PAUSE_S)
