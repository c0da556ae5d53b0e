"""`haru bench deadline`: recall over an index with every sort of fault. Is it ever late, does it ever raise or leak?

Many sessions run at once, so that thousands of hung turns take minutes. Each session has its own breaker, which is
kept from opening while the deadline itself is measured; what the breaker does is measured apart, at the end.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from haru.bench import drawing, figures, household
from haru.embed.static import StaticEmbedder
from haru.errors import HaruError
from haru.index.inprocess import InProcessIndex
from haru.recall.desk import RecallSettings
from haru.recall.sessions import Sessions
from haru.testing.faults import FAULTS, Fault, FaultyIndex

BUDGET_S = 0.25
AT_ONCE = 40
APART_S = 0.1
"""Between the starts of two sessions: deadlines spread out, as in life."""
SPEECH_S = 0.2
"""Before a turn somebody speaks, if only a moment: forty sessions that only ever ask would measure the processor."""
TURNS_A_SESSION = 5
MEMORIES = 100
"""Few, so that forty sessions that fill their caches at once don't measure each other."""
GOALS = {
    "overshoot_p99_ms": 10.0,
    "overshoot_max_ms": 100.0,
    "exceptions": 0,
    "leaked_tasks": 0,
    "leaked_threads": 0,
    "open_calls": 0,
}
PRELOAD_S = 0.3
EMBEDDER = StaticEmbedder()
NEVER = 10**9
"""A breaker that opens after so many misses never does."""
DELAY_S = {"blocking": 0.6, "slow": 0.4}
"""Slow answers serve later turns; a held thread can't be let go of early, so the look for leaks waits for it."""


@dataclass(slots=True)
class _Seen:
    overshoot_ms: list[float] = field(default_factory=list[float])
    waited_ms: list[float] = field(default_factory=list[float])
    outcomes: Counter[str] = field(default_factory=Counter[str])
    exceptions: int = 0


async def run(turns: int, faults: Sequence[Fault] = FAULTS, told: Callable[[str], None] = print) -> dict[str, Any]:
    """Every fault in turn; then a store that is down for good and comes back."""
    with _unlogged():
        return await _run(turns, faults, told)


@contextmanager
def _unlogged() -> Generator[None]:
    """Thousands of faults on purpose are no news; afterwards they are again."""
    recall = logging.getLogger("haru.recall")
    before = recall.level
    recall.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        recall.setLevel(before)


async def _run(turns: int, faults: Sequence[Fault], told: Callable[[str], None]) -> dict[str, Any]:
    kept = household.memories(MEMORIES)
    inner = InProcessIndex(EMBEDDER)
    await inner.put(kept)
    asked = household.questions(kept, 200)
    results: dict[str, Any] = {}
    for fault in faults:
        told(f"{fault}: {turns} turns")
        results[fault] = await _one(fault, inner, asked, turns)
    told("a store that is down for good")
    results["store_down_for_good"] = await _down(inner, asked)
    await inner.aclose()
    return {
        "conditions": figures.conditions(budget_ms=BUDGET_S * 1000, turns=turns, sessions_at_once=AT_ONCE),
        "goals": GOALS,
        "faults": results,
    }


def chosen(names: Sequence[str]) -> Sequence[Fault]:
    """Faults by name; all of them where none is named.

    Raises:
        HaruError: there is no such fault.
    """
    known: dict[str, Fault] = {str(fault): fault for fault in FAULTS}
    if unknown := [name for name in names if name not in known]:
        raise HaruError(f"there is no fault {unknown[0]}; known are {', '.join(known)}")
    return [known[name] for name in names] or FAULTS


async def _one(fault: Fault, inner: InProcessIndex, asked: Sequence[str], turns: int) -> dict[str, Any]:
    before = _census()
    seen = _Seen()
    lag = asyncio.create_task(_lag())
    # Half of the sessions have filled their cache before the trouble starts, so that the fallback has work to do.
    delay_s = DELAY_S.get(fault, 3.0)
    indexes = [FaultyIndex(inner, fault, delay_s=delay_s, listing=troubled) for troubled in (True, False)]
    batches = -(-turns // (AT_ONCE * TURNS_A_SESSION))
    for batch in range(batches):
        await asyncio.gather(*(_session(indexes[n % 2], asked, seen, batch * AT_ONCE + n) for n in range(AT_ONCE)))
    lag.cancel()
    (worst_lag,) = await lag
    leaked = await _leaked(before)
    overshoot, waited = figures.summary(seen.overshoot_ms), figures.summary(seen.waited_ms)
    return {
        "turns": len(seen.waited_ms),
        "overshoot_p99_ms": overshoot["p99"],
        "overshoot_max_ms": overshoot["max"],
        "waited_p50_ms": waited["p50"],
        "waited_p99_ms": waited["p99"],
        "exceptions": seen.exceptions,
        "leaked_tasks": leaked[0],
        "leaked_threads": leaked[1],
        "open_calls": sum(index.open_calls for index in indexes),
        "loop_lag_max_ms": round(worst_lag, 1),
        "outcomes": dict(seen.outcomes),
    }


async def _session(index: FaultyIndex, asked: Sequence[str], seen: _Seen, number: int) -> None:
    await asyncio.sleep((number % AT_ONCE) * APART_S)
    sessions = Sessions(index, EMBEDDER, RecallSettings(budget_s=BUDGET_S, background_s=2.0))
    sessions.breaker.opens_after = NEVER
    session = sessions.open()
    session.start()
    await asyncio.sleep(PRELOAD_S)  # speech goes on while the memories at hand are fetched
    try:
        for turn in range(TURNS_A_SESSION):
            await asyncio.sleep(SPEECH_S)
            began = time.perf_counter()
            try:
                recollection = await session.recall(asked[(number * TURNS_A_SESSION + turn) % len(asked)])
            except Exception:  # noqa: BLE001 - that nothing comes out is what is measured
                seen.exceptions += 1
                continue
            took_ms = (time.perf_counter() - began) * 1000
            seen.overshoot_ms.append(max(took_ms - BUDGET_S * 1000, 0.0))
            seen.waited_ms.append(recollection.receipt.waited_ms)
            seen.outcomes[recollection.receipt.outcome] += 1
    finally:
        await sessions.aclose()


async def _down(inner: InProcessIndex, asked: Sequence[str]) -> dict[str, Any]:
    """The breaker left alone: from which turn on is nothing waited for, and when is the return noticed?"""
    index = FaultyIndex(inner)
    sessions = Sessions(index, EMBEDDER, RecallSettings(budget_s=BUDGET_S))
    session = sessions.open()
    session.start()
    await asyncio.sleep(0.5)
    index.fault = "hung"
    waited = [(await session.recall(asked[n])).receipt.waited_ms for n in range(8)]
    await asyncio.sleep(8.0)  # long enough for the probes to have slowed down
    index.fault = "fast"
    began = time.perf_counter()
    while not sessions.breaker.closed and time.perf_counter() - began < 30.0:
        await asyncio.sleep(0.02)
    recovery_s = time.perf_counter() - began
    await sessions.aclose()
    quiet_from = next((n + 1 for n in range(len(waited)) if max(waited[n:]) < 50.0), len(waited) + 1)
    return {
        "waited_ms": [round(each, 1) for each in waited],
        "first_turn_without_wait": quiet_from,
        "recovery_s": round(recovery_s, 2),
    }


def missed(result: dict[str, Any]) -> list[str]:
    """Which goals were missed, in words."""
    found: list[str] = []
    faults = result["faults"]
    for name, each in faults.items():
        if name == "store_down_for_good":
            if each["first_turn_without_wait"] > 4:
                found.append("the breaker does not end the waiting by the fourth turn")
            if each["recovery_s"] >= 5.0:
                found.append(f"a return is noticed after {each['recovery_s']} s")
        else:
            found += [
                f"{name}: {key} is {each[key]}, not under {goal}" for key, goal in GOALS.items() if each[key] > goal
            ]
    return found


async def _lag() -> list[float]:
    """How long the loop stood still, in milliseconds, tick by tick, until cancelled."""
    worst = [0.0]
    try:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.01)
            worst[0] = max(worst[0], (time.perf_counter() - before - 0.01) * 1000)
    except asyncio.CancelledError:
        return worst


def _census() -> tuple[int, int]:
    return len(asyncio.all_tasks()), _own_threads()


async def _leaked(before: tuple[int, int]) -> tuple[int, int]:
    """Tasks and threads of Haru's that are more than before, after a moment to end."""
    tasks = threads = 0
    for _ in range(40):
        gc.collect()
        tasks, threads = len(asyncio.all_tasks()) - before[0], _own_threads() - before[1]
        if tasks <= 0 and threads <= 0:
            return 0, 0
        await asyncio.sleep(0.05)
    return max(tasks, 0), max(threads, 0)


def _own_threads() -> int:
    return sum(thread.name.startswith("haru-") for thread in threading.enumerate())


def plot(result: dict[str, Any], file: Path) -> None:
    """Waiting time by fault against the budget."""
    faults = {name: each for name, each in result["faults"].items() if "waited_p50_ms" in each}
    chart, axes = drawing.axes(8, 4)
    names = list(faults)
    axes.barh(names, [each["waited_p99_ms"] for each in faults.values()], color="#0f766e", label="p99")
    axes.barh(names, [each["waited_p50_ms"] for each in faults.values()], color="#5eead4", label="median")
    axes.axvline(BUDGET_S * 1000, color="#b91c1c", linestyle="--", label="budget")
    axes.set_xlabel("how long the reply waits for memory, ms")
    axes.legend()
    drawing.save(chart, file)
