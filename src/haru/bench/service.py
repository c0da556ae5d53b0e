"""`haru bench service`: many households in one database. How long does a search take alone, and at a steady rate?

Closed loop with one client, then an open loop: requests come at a rate whether or not earlier ones are answered, as
they do to a service. Beside it, on some of the households, what the embedded index finds.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from haru.bench import drawing, figures, household
from haru.embed.static import StaticEmbedder
from haru.index.sqlite import SqliteIndex
from haru.memory import Memory, Status
from haru.postgres.index import PostgresIndex, connections
from haru.testing.postgres import database, server

GOAL_ALONE_P99_MS = 15.0
GOAL_RATE_P99_MS = 50.0
GOAL_RECALL_DROP = 0.01
A_SECOND = 100
COMPARED = 5
"""Households whose answers are compared with the embedded index's."""
_PUT_AT_A_TIME = 500
_FILLERS = 4
_WARM_UP = 30
_EMBEDDER = StaticEmbedder()

Home = tuple[PostgresIndex, list[Memory]]


async def run(
    address: str, households: int, memories: int, questions: int, told: Callable[[str], None] = print
) -> dict[str, Any]:
    """Fill, measure, compare.

    Args:
        address: of a database for this alone; without one, a server is started.
        households: how many.
        memories: of each.
        questions: of each way to ask.
        told: hears of progress.
    """
    async with AsyncExitStack() as stack:
        if not address:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="haru-bench-"))
            address = database(stack.enter_context(server(Path(folder) / "postgres")))
        pool = connections(address)
        await pool.open()
        stack.push_async_callback(pool.close)
        homes = [_home(address, number, memories, pool) for number in range(households)]
        await homes[0][0].start()
        filled_s = await _filled(homes, told)
        chance = random.Random(5)
        asked = [_asked(chance.choice(homes), chance) for _ in range(questions + _WARM_UP)]
        told("one client")
        alone = await _alone(asked)
        told(f"{A_SECOND} searches a second")
        steady = await _steady(asked[_WARM_UP:])
        told("beside the embedded index")
        same = await _compared(homes[:COMPARED])
    return {
        "conditions": figures.conditions(
            households=households, memories=memories, questions=questions, embedder=_EMBEDDER.id, server="same machine"
        ),
        "goals": {"alone_p99_ms": GOAL_ALONE_P99_MS, "steady_p99_ms": GOAL_RATE_P99_MS},
        "fill_s": round(filled_s, 1),
        "alone_ms": figures.summary(alone),
        "a_second": A_SECOND,
        "steady_ms": figures.summary(steady),
        "recall": same,
    }


def _home(address: str, number: int, memories: int, pool: Any) -> Home:
    kept = household.memories(memories, seed=number)
    return PostgresIndex(address, _EMBEDDER, household=f"home-{number:05d}", pool=pool), kept


async def _filled(homes: Sequence[Home], told: Callable[[str], None]) -> float:
    began = time.perf_counter()
    waiting = list(homes)

    async def fill() -> None:
        while waiting:
            index, kept = waiting.pop()
            for at in range(0, len(kept), _PUT_AT_A_TIME):
                await index.put(kept[at : at + _PUT_AT_A_TIME])
            if len(waiting) % 10 == 0:
                told(f"{len(homes) - len(waiting)} of {len(homes)} households filled")

    await asyncio.gather(*(fill() for _ in range(_FILLERS)))
    return time.perf_counter() - began


def _asked(home: Home, chance: random.Random) -> tuple[PostgresIndex, str]:
    index, kept = home
    ((question, _),) = household.asked(kept, 1, seed=chance.randrange(10**6))
    return index, question


async def _alone(asked: Sequence[tuple[PostgresIndex, str]]) -> list[float]:
    took: list[float] = []
    for index, question in asked:
        began = time.perf_counter()
        await index.search(question)
        took.append((time.perf_counter() - began) * 1000)
    return took[_WARM_UP:]


async def _steady(asked: Sequence[tuple[PostgresIndex, str]]) -> list[float]:
    """At Poisson times; a request's time counts from when it was due."""
    chance = random.Random(6)
    loop = asyncio.get_running_loop()
    took: list[float] = []

    async def one(index: PostgresIndex, question: str, due: float) -> None:
        await index.search(question)
        took.append((loop.time() - due) * 1000)

    due = loop.time()
    async with asyncio.TaskGroup() as tasks:
        for index, question in asked:
            due += chance.expovariate(A_SECOND)
            await asyncio.sleep(max(due - loop.time(), 0.0))
            tasks.create_task(one(index, question, due))
    return took


async def _compared(homes: Sequence[Home]) -> dict[str, float]:
    """Share of questions whose memory is found, by both."""
    theirs: list[bool] = []
    ours: list[bool] = []
    for index, kept in homes:
        with tempfile.TemporaryDirectory(prefix="haru-bench-") as folder:
            embedded = SqliteIndex(Path(folder) / "index.db", _EMBEDDER)
            await embedded.put(kept)
            for question, wanted in household.asked([each for each in kept if each.status is Status.ACTIVE], 40):
                for found, by in ((theirs, index), (ours, embedded)):
                    hits = (await by.search(question)).hits
                    found.append(any(hit.memory.id == wanted.id for hit in hits))
            await embedded.aclose()
    return {
        "postgres": round(sum(theirs) / len(theirs), 4),
        "embedded": round(sum(ours) / len(ours), 4),
        "questions": len(ours),
    }


def missed(result: dict[str, Any]) -> list[str]:
    """Which goals were missed, in words."""
    found: list[str] = []
    for name, goal in (("alone_ms", GOAL_ALONE_P99_MS), ("steady_ms", GOAL_RATE_P99_MS)):
        if result[name]["p99"] >= goal:
            found.append(f"{name.removesuffix('_ms')}: p99 is {result[name]['p99']} ms, not under {goal}")
    recall = result["recall"]
    if recall["embedded"] - recall["postgres"] > GOAL_RECALL_DROP:
        found.append(f"recall is {recall['postgres']}, the embedded index's {recall['embedded']}")
    return found


def plot(result: dict[str, Any], file: Path) -> None:
    """Both ways to ask."""
    chart, axes = drawing.axes(6, 3.5)
    names = ["one client", f"{result['a_second']} a second"]
    for number, point in enumerate(("p50", "p95", "p99")):
        at = [n + (number - 1) * 0.25 for n in range(2)]
        axes.bar(at, [result[key][point] for key in ("alone_ms", "steady_ms")], 0.25, label=point)
    axes.set_xticks(range(2), names)
    axes.set(ylabel="ms")
    axes.legend(fontsize=8)
    drawing.save(chart, file)
