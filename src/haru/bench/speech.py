"""`haru bench speech`: replayed at speaking speed, how long does a reply wait for memories?

150 words a minute; a recogniser gives the words so far every 300 ms, the newest of them sometimes wrong; the turn ends
300 ms after the last word. Through real sessions over the embedded index, which is made slower for some rows, as a
store across a network would be. Beside each row what always waiting for the last search would have found.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from haru.bench import drawing, figures, household
from haru.embed.static import StaticEmbedder
from haru.index.sqlite import SqliteIndex
from haru.memory import HOUSEHOLD, Memory, Status
from haru.ports import ACTIVE, Filters, Hits
from haru.recall.desk import RecallSettings, Recollection
from haru.recall.sessions import Sessions

A_WORD_S = 60.0 / 150.0
PARTIAL_S = 0.3
SILENCE_S = 0.3
"""From the last word to the decision that the turn is over."""
DELAYS_MS = (0, 50, 150, 400)
JUDGED_MS = (0, 50, 150)
"""A slower store than these is what the late hits are for."""
MEMORIES = 2000
AT_ONCE = 12
FILLING_S = 0.5
SIZE = 10
GOAL_UNDER_1_MS = 0.90
GOAL_SEARCHES = 3.0
_MISHEARD = 0.2
"""Share of partial texts whose newest word is still another one."""

Row = dict[str, Any]


class _Slower(SqliteIndex):
    """The embedded index, as far away as asked."""

    delay_s = 0.0

    async def search(
        self, query: str, *, size: int = 10, filters: Filters = ACTIVE, customer_id: str = HOUSEHOLD
    ) -> Hits:
        """See `haru.ports.MemoryIndex.search`."""
        hits = await super().search(query, size=size, filters=filters, customer_id=customer_id)
        await asyncio.sleep(self.delay_s)
        return hits


async def run(turns: int, told: Callable[[str], None] = print) -> dict[str, Any]:
    """Every delay in turn."""
    kept = household.memories(MEMORIES)
    asked = household.asked([each for each in kept if each.status is Status.ACTIVE], turns)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="haru-bench-") as scratch:
        index = _Slower(Path(scratch) / "index.db", StaticEmbedder())
        await index.put(kept)
        await index.warm()
        for delay_ms in DELAYS_MS:
            told(f"a store that takes {delay_ms} ms more: {turns} turns")
            index.delay_s = delay_ms / 1000
            rows.append(await _delay(index, asked, delay_ms))
        await index.aclose()
    return {
        "conditions": figures.conditions(
            turns=turns,
            memories=MEMORIES,
            words_a_minute=150,
            partials_ms=300,
            silence_ms=300,
            embedder=StaticEmbedder.id,
        ),
        "goals": {"under_1_ms": GOAL_UNDER_1_MS, "searches_a_turn": GOAL_SEARCHES},
        "rows": rows,
    }


async def _delay(index: _Slower, asked: Sequence[tuple[str, Memory]], delay_ms: int) -> Row:
    sessions = Sessions(index, StaticEmbedder(), RecallSettings())
    found: list[tuple[Recollection, Memory]] = []
    lot = [asked[start::AT_ONCE] for start in range(AT_ONCE)]
    await asyncio.gather(*(_conversation(sessions, each, number, found) for number, each in enumerate(lot)))
    waited = list[bool]()
    for text, wanted in asked:
        hits = (await index.search(text, size=SIZE)).hits
        waited.append(any(hit.memory.id == wanted.id for hit in hits))
    await sessions.aclose()
    receipts = [recollection.receipt for recollection, _ in found]
    waits = [receipt.waited_ms for receipt in receipts]
    searches = [receipt.searches for receipt in receipts]
    right = [any(memory.id == wanted.id for memory in recollection.memories) for recollection, wanted in found]
    return {
        "delay_ms": delay_ms,
        "turns": len(found),
        "under_1_ms": round(sum(wait < 1.0 for wait in waits) / len(waits), 4),
        "waited_ms": figures.summary(waits),
        "searches_a_turn": round(sum(searches) / len(searches), 2),
        "searches_max": max(searches),
        "found": round(sum(right) / len(right), 4),
        "found_by_waiting": round(sum(waited) / len(waited), 4),
        "outcomes": dict(Counter(receipt.outcome for receipt in receipts)),
    }


async def _conversation(
    sessions: Sessions, asked: Sequence[tuple[str, Memory]], number: int, found: list[tuple[Recollection, Memory]]
) -> None:
    """One person's turns, one after the other."""
    chance = random.Random(number)
    session = sessions.open()
    await asyncio.sleep(number * FILLING_S)
    session.start()  # the memories at hand are there before the first turn: what is measured is talk, not a start
    await asyncio.sleep((AT_ONCE - number) * FILLING_S + chance.random() * PARTIAL_S)  # people don't keep step
    for text, wanted in asked:
        session.start()
        words = text.split()
        ends_s = len(words) * A_WORD_S + SILENCE_S
        loop = asyncio.get_running_loop()
        began = loop.time()
        tick_s = PARTIAL_S
        while tick_s < ends_s:
            await asyncio.sleep(max(began + tick_s - loop.time(), 0.0))
            session.hear(_partial(words, tick_s, chance))
            tick_s += PARTIAL_S
        await asyncio.sleep(max(began + ends_s - loop.time(), 0.0))
        found.append((await session.recall(text), wanted))
    await sessions.close(session)


def _partial(words: Sequence[str], at_s: float, chance: random.Random) -> str:
    """What a recogniser has made of it by now."""
    said = list(words[: int(at_s / A_WORD_S)])
    if said and len(said) < len(words) and chance.random() < _MISHEARD:
        said[-1] = f"{said[-1][:3]}um"
    return " ".join(said)


def missed(result: dict[str, Any]) -> list[str]:
    """Which goals were missed, in words."""
    found: list[str] = []
    for row in result["rows"]:
        if row["delay_ms"] in JUDGED_MS and row["under_1_ms"] < GOAL_UNDER_1_MS:
            found.append(f"{row['delay_ms']} ms: {row['under_1_ms']} of turns wait under 1 ms, not {GOAL_UNDER_1_MS}")
        if row["searches_a_turn"] > GOAL_SEARCHES:
            found.append(f"{row['delay_ms']} ms: {row['searches_a_turn']} searches a turn, not {GOAL_SEARCHES}")
    return found


def plot(result: dict[str, Any], file: Path) -> None:
    """Share of turns that wait for nothing, by how slow the store is."""
    chart, axes = drawing.axes(7, 3.5)
    rows = result["rows"]
    names = [f"{row['delay_ms']} ms" for row in rows]
    axes.bar(names, [row["under_1_ms"] for row in rows], color="#0f766e")
    axes.axhline(GOAL_UNDER_1_MS, color="#b91c1c", linestyle=":")
    axes.set(ylim=(0, 1), xlabel="what the store takes more", ylabel="turns that wait < 1 ms")
    drawing.save(chart, file)
