"""`haru doctor`: look at every part, and say what to do."""

from __future__ import annotations

import asyncio
import shutil
import stat
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Literal, cast

from haru.app import compose
from haru.app.commands.opened import console, now, plain, tell
from haru.app.commands.writer import progress
from haru.app.settings import Settings, found_file, load
from haru.chatlog import ChatLogReader, Problem, Turn
from haru.errors import HaruError, ReplyUnusable
from haru.index.sqlite import SqliteIndex
from haru.journal import replay
from haru.llm.discover import discover
from haru.ports import Message
from haru.writer.worker import WriterBusy, alone, minable

Verdict = Literal["ok", "warn", "bad"]
_SIGNS = {"ok": "[green]ok  [/green]", "warn": "[yellow]warn[/yellow]", "bad": "[red]bad [/red]"}
_LEAST_FREE_BYTES = 200 << 20
_EARLIEST_YEAR = 2024
_MODEL_LIMIT_S = 30.0
_LATE_S = 600.0
"""A turn that waits for this much longer than the due rule says shows that the writer does not keep up."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found of one part."""

    part: str
    verdict: Verdict
    told: str


async def doctor(*, as_json: bool) -> int:
    """Check everything; exit code 1 where something is bad."""
    settings = load()
    compose.Home(settings.home).make()
    found: list[Finding] = []
    async for finding in _all(settings):
        found.append(finding)
        if not as_json:
            console.print(f"{_SIGNS[finding.verdict]} {finding.part}: {plain(finding.told)}")
    if as_json:
        tell([{"part": each.part, "verdict": each.verdict, "told": each.told} for each in found])
    return 1 if any(each.verdict == "bad" for each in found) else 0


async def _all(settings: Settings) -> AsyncIterator[Finding]:
    yield Finding("settings", "ok", str(found_file() or "defaults; there is no haru.toml"))
    for finding in (*_disk(settings), *_clock(), *_modes(settings), *_log(settings), *_journal(settings)):
        yield finding
    async for finding in _index(settings):
        yield finding
    yield await _model(settings)


def _disk(settings: Settings) -> Iterator[Finding]:
    free = shutil.disk_usage(settings.home).free
    told = f"{free >> 20} MiB free at {settings.home}"
    if free < _LEAST_FREE_BYTES:
        yield Finding("disk", "bad", f"{told}: make room, or what is said can't be saved")
    else:
        yield Finding("disk", "ok", told)


def _clock() -> Iterator[Finding]:
    if now().year < _EARLIEST_YEAR:
        yield Finding("clock", "bad", f"the clock says {now():%Y-%m-%d}: set it, or memories get wrong dates")
    else:
        yield Finding("clock", "ok", f"{now():%Y-%m-%d %H:%M} UTC")


def _modes(settings: Settings) -> Iterator[Finding]:
    home = settings.home
    loose = [path.name for path in (home, *home.rglob("*")) if _open_to_others(path) and path.parent.name != "models"]
    if loose:
        yield Finding("privacy", "warn", f"others can read {', '.join(loose[:5])}: chmod -R go= {settings.home}")
    else:
        yield Finding("privacy", "ok", "files are readable by their owner alone")


def _open_to_others(path: Path) -> bool:
    try:
        return bool(path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))
    except FileNotFoundError:  # a write-ahead file comes and goes
        return False


def _log(settings: Settings) -> Iterator[Finding]:
    turns = ahead = 0
    problems: list[Problem] = []
    known = progress(settings)
    waiting: list[Turn] = []
    for _, record in ChatLogReader(compose.Home(settings.home).log).poll():
        if isinstance(record, Problem):
            problems.append(record)
        elif isinstance(record, Turn):
            turns += 1
            ahead += record.at > now() + timedelta(minutes=5)
            if minable(record) and record.id not in known.done:
                waiting.append(record)
    if problems:
        yield Finding(
            "chat log", "warn", f"{len(problems)} lines can't be read and are passed over; the first: {problems[0]}"
        )
    if ahead:
        yield Finding("chat log", "warn", f"{ahead} turns lie ahead of the clock: it was set back, or is wrong now")
    if not problems and not ahead:
        yield Finding("chat log", "ok", f"{turns} turns")
    yield _writer(settings, waiting)
    for attempt in known.attempts.values():
        told = f"{len(attempt.turns)} turns of {attempt.session} failed {attempt.failures} times ({attempt.reason})"
        yield Finding("writer", "warn", f"{told}; they are tried again after {attempt.next_at:%H:%M} UTC")


def _writer(settings: Settings, waiting: list[Turn]) -> Finding:
    extractor = compose.extractor_name(settings)
    oldest_s = max(((now() - turn.at).total_seconds() for turn in waiting), default=0.0)
    try:
        with alone(compose.Home(settings.home).writer_lock):
            at_work = False
    except WriterBusy:
        at_work = True
    if not waiting:
        return Finding("writer", "ok", f"{'at work' if at_work else 'not running'}, nothing waits ({extractor})")
    if not at_work:
        return Finding("writer", "warn", f"not running, {len(waiting)} turns wait: start `haru writer` or `haru up`")
    if oldest_s > _LATE_S + settings.writer.quiet_s:
        told = f"at work, but {len(waiting)} turns wait, the oldest for {oldest_s / 60:.0f} minutes"
        return Finding("writer", "warn", f"{told}: is the model too slow? ({extractor})")
    return Finding("writer", "ok", f"at work, {len(waiting)} turns wait ({extractor})")


def _journal(settings: Settings) -> Iterator[Finding]:
    journal = compose.journal(settings)
    pending = len(journal.pending())
    aside = sum(len(each.turns) for each in progress(settings).aside.values())
    if journal.problems:
        yield Finding("journal", "warn", f"{journal.problems} lines can't be read")
    if pending:
        yield Finding("journal", "warn", f"{pending} changes wait for the index: run `haru writer --once`")
    if aside:
        yield Finding("journal", "warn", f"{aside} turns are set aside: see `haru writer aside`")
    if not (journal.problems or pending or aside):
        yield Finding("journal", "ok", "every change has reached the index")


async def _index(settings: Settings) -> AsyncIterator[Finding]:
    try:
        async with compose.opened_index(settings) as index:
            began = time.perf_counter()
            await index.warm()
            took_ms = (time.perf_counter() - began) * 1000
            counts = await index.stats()
            problems = await index.check() if isinstance(index, SqliteIndex) else []
            lacking = [problem for problem in problems if "no vector" in problem]
            for problem in problems:
                if problem not in lacking:
                    yield Finding("index", "bad", f"{problem}: `haru rebuild` mends it")
            held = counts["status"]
            if problems == lacking:
                yield _complete(settings, held, took_ms)
            embedder = str(counts["embedder"]) or "none: searching by words alone"
            if lacking:
                yield Finding("embedder", "warn", f"{lacking[0]}; a running `haru chat` or `haru writer` fills them in")
            else:
                yield Finding("embedder", "ok", embedder)
    except HaruError as error:
        yield Finding("index", "bad", str(error))


def _complete(settings: Settings, held: object, took_ms: float) -> Finding:
    """Whether the index holds as many memories as the journal makes."""
    wanted = Counter(str(memory.status) for memory in replay(compose.journal(settings).read()).values())
    if settings.index.backend == "sqlite" and held != dict(wanted):
        there, made = _counted(held), _counted(dict(wanted))
        return Finding("index", "bad", f"it holds {there}, and the journal makes {made}: run `haru rebuild`")
    return Finding("index", "ok", f"{_counted(held)}, ready in {took_ms:.0f} ms")


def _counted(counts: object) -> str:
    each = cast("dict[str, int]", counts)
    return ", ".join(f"{count} {status}" for status, count in sorted(each.items())) or "no memories"


async def _model(settings: Settings) -> Finding:
    try:
        model = compose.model(settings)
        try:
            async with asyncio.timeout(_MODEL_LIMIT_S):
                await model.complete(
                    [Message(role="user", content="Say hello.")], max_tokens=8, timeout_s=_MODEL_LIMIT_S
                )
        except ReplyUnusable:
            return Finding("model", "ok", f"{model.id} answers, with no text in its first 8 tokens (it thinks first)")
        finally:
            await model.aclose()
    except (HaruError, TimeoutError) as error:
        others = "; ".join(f"{each.service} at {each.url} has {each.models[0]}" for each in await discover())
        return Finding("model", "bad", f"{error or 'no answer in time'}{f'. Found: {others}' if others else ''}")
    tiny = "" if settings.llm.url else " (small: set llm.url and llm.model for better answers)"
    return Finding("model", "ok", f"{model.id} answers{tiny}")
