"""Quality under the deadline: what turns find while the index answers in all of them, in some, or in none.

Through real sessions: the index hangs in the turns where it does not answer, and the session's own memories serve.
LoCoMo's observations with their dates and persons, a few conversations of it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from haru.bench.levels import Once
from haru.bench.locomo import Store, memories, numbers, stores
from haru.embed.static import StaticEmbedder
from haru.index.inprocess import InProcessIndex
from haru.ports import Embedder
from haru.recall.desk import RecallSettings
from haru.recall.sessions import Sessions
from haru.testing.faults import FaultyIndex

ANSWERED = (1.0, 0.5, 0.25, 0.0)
CONVERSATIONS = 3
BUDGET_S = 0.06
READY_S = 60.0
GOAL_DROP = 0.03

Row = dict[str, Any]


async def measure(data: Path, level: str, embedder: Embedder) -> list[Row]:
    """A row for each share of turns that the index answers."""
    once = Once(embedder)
    kept = stores(data, "observations")[:CONVERSATIONS]
    rows: list[Row] = []
    for answered in ANSWERED:
        found = [each for store in kept for each in await _conversation(store, once, level, answered)]
        recall, precision, returned = np.mean(found, axis=0)
        rows.append(
            {
                "level": level,
                "answered": answered,
                "questions": len(found),
                "recall@10": round(float(recall), 4),
                "precision": round(float(precision), 4),
                "returned": round(float(returned), 2),
            }
        )
    return rows


async def _conversation(
    store: Store, embedder: Embedder, level: str, answered: float
) -> list[tuple[float, float, int]]:
    inner = InProcessIndex(embedder)
    await inner.put(memories(store))
    index = FaultyIndex(inner)
    settings = RecallSettings(budget_s=BUDGET_S, background_s=READY_S)
    sessions = Sessions(index, StaticEmbedder(), settings, finer=embedder if level == "full" else None)
    sessions.breaker.opens_after = 10**9  # an index that fails now and then is what is measured
    session = sessions.open()
    session.start()
    await asyncio.sleep(1.0)
    found: list[tuple[float, float, int]] = []
    chance = random.Random(0)
    for asked in store.questions:
        index.fault = "fast" if chance.random() < answered else "hung"
        recalled = (await session.recall(asked.text)).memories
        covers = [store.passages[n].covers & asked.answered_by for n in numbers([each.id for each in recalled])]
        got = frozenset[str]().union(*covers)
        right = sum(bool(each) for each in covers)
        found.append((len(got) / len(asked.answered_by), right / len(recalled) if recalled else 0.0, len(recalled)))
    await sessions.aclose()
    return found


def missed(rows: Sequence[Row]) -> list[str]:
    """Which goals were missed, in words."""
    found: list[str] = []
    for row in rows:
        full = next(each for each in rows if each["level"] == row["level"] and each["answered"] == 1.0)
        drop = full["recall@10"] - row["recall@10"]
        if drop >= GOAL_DROP:
            found.append(f"fallback, {row['level']}: recall@10 drops by {drop:.4f} where {row['answered']:.0%} answer")
    return found
