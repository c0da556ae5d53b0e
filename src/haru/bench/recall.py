"""`haru bench recall`: how long a reply waits for the embedded index, as it grows and while another process writes.

Beside it, in the same run and on the same memories and questions: plain FTS5 with BM25, word overlap in Python, and a
plain scan of all vectors.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from haru import scoring, words
from haru.bench import drawing, figures, household
from haru.embed.static import StaticEmbedder
from haru.errors import HaruError
from haru.index.sqlite import SqliteIndex
from haru.memory import Memory, Status
from haru.recall.desk import RecallSettings
from haru.recall.sessions import Sessions

GOALS_P99_MS = {10_000: 10.0, 100_000: 40.0}
WRITE_EVERY_S = 0.02
PAUSE_S = 0.01
"""Between two questions, so that the other process writes between them."""
_PUT_AT_A_TIME = 2000
_WARM_UP = 20
_OVERLAP_QUESTIONS = 50

Row = dict[str, Any]


async def run(
    sizes: Sequence[int], questions: int, *, writing: bool, told: Callable[[str], None] = print
) -> dict[str, Any]:
    """Each size in turn."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="haru-bench-") as scratch:
        for size in sizes:
            told(f"{size:,} memories")
            rows += await _size(size, questions, Path(scratch) / f"{size}.db", writing=writing)
    return {
        "conditions": figures.conditions(
            questions=questions, embedder=StaticEmbedder.id, another_process_writes=writing
        ),
        "goals": {"wait_p99_ms": GOALS_P99_MS},
        "rows": rows,
    }


async def _size(size: int, questions: int, path: Path, *, writing: bool) -> list[Row]:
    kept = household.memories(size)
    asked = household.questions([each for each in kept if each.status is Status.ACTIVE], questions)
    await _fill(path, kept)
    row: Row = {"memories": size, "engine": "haru"}
    writer = _writer(path, size) if writing else None
    try:
        row |= await _ours(path, asked)
        if writer and writer.poll() is not None:
            raise HaruError(f"the writing process ended by itself (code {writer.returncode}): nothing was measured")
    finally:
        if writer:
            writer.kill()
            writer.wait()
    return [row, *_peers(path, kept, asked, size)]


async def _fill(path: Path, kept: list[Memory]) -> None:
    index = SqliteIndex(path, StaticEmbedder())
    for at in range(0, len(kept), _PUT_AT_A_TIME):
        await index.put(kept[at : at + _PUT_AT_A_TIME])
    await index.aclose()


async def _ours(path: Path, asked: Sequence[str]) -> Row:
    """The wait of a turn through a recall session, as a conversation meets it."""
    before_mib = figures.resident_mib()
    index = SqliteIndex(path, StaticEmbedder(), maintain=True)
    began = time.perf_counter()
    await index.search(asked[0])
    first_ms = (time.perf_counter() - began) * 1000
    await index.ready()
    await index.search(asked[0])
    ready_ms = (time.perf_counter() - began) * 1000
    sessions = Sessions(index, StaticEmbedder(), RecallSettings())
    session = sessions.open()
    session.start()
    await asyncio.sleep(0.5)
    waits: list[float] = []
    cpu: list[float] = []
    outcomes: list[str] = []
    for number, question in enumerate([*asked[:_WARM_UP], *asked]):
        await asyncio.sleep(PAUSE_S)
        cpu_before = time.process_time()
        receipt = (await session.recall(question)).receipt
        if number >= _WARM_UP:
            cpu.append((time.process_time() - cpu_before) * 1000)
            waits.append(receipt.waited_ms)
            outcomes.append(receipt.outcome)
    rss_mib = figures.resident_mib()
    await sessions.aclose()
    await index.aclose()
    return {
        "wall_ms": figures.summary(waits),
        "cpu_ms": figures.summary(cpu),
        "first_answer_ms": round(first_ms, 1),
        "ready_ms": round(ready_ms, 1),
        "rss_mib": round(rss_mib, 1),
        "rss_added_mib": round(rss_mib - before_mib, 1),
        "answered_by_search": round(sum(each == "search" for each in outcomes) / len(outcomes), 3),
    }


def _writer(path: Path, size: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "haru.bench.recall", str(path), str(size)])


async def _write(path: Path, size: int) -> None:
    """The other process: one memory added or changed every 20 ms, until it is ended."""
    index = SqliteIndex(path, StaticEmbedder())
    chance = random.Random(3)
    fresh = household.memories(2000, seed=13)
    while True:
        memory = fresh[chance.randrange(len(fresh))]
        key = f"mem-{chance.randrange(size):08x}" if chance.random() < 0.5 else f"mem-new-{chance.randrange(5000)}"
        await index.put([memory.changed(id=key)])
        await asyncio.sleep(WRITE_EVERY_S)


# -- what else there is


def _peers(path: Path, kept: list[Memory], asked: Sequence[str], size: int) -> list[Row]:
    active = [each for each in kept if each.status is Status.ACTIVE]
    return [
        {"memories": size, "engine": name, **_timed(search, asked[:limit])}
        for name, search, limit in (
            ("plain FTS5, BM25", _fts5(path), len(asked)),
            ("vector scan", _scan(active), len(asked)),
            ("word overlap in Python", _overlap(active), _OVERLAP_QUESTIONS),
        )
    ]


def _timed(search: Callable[[str], object], asked: Sequence[str]) -> Row:
    wall: list[float] = []
    cpu: list[float] = []
    for question in [*asked[:5], *asked]:
        began, cpu_before = time.perf_counter(), time.process_time()
        search(question)
        cpu.append((time.process_time() - cpu_before) * 1000)
        wall.append((time.perf_counter() - began) * 1000)
    return {"wall_ms": figures.summary(wall[5:]), "cpu_ms": figures.summary(cpu[5:])}


def _fts5(path: Path) -> Callable[[str], object]:
    db = sqlite3.connect(path)
    sql = (
        "SELECT m.body FROM words JOIN memories m ON m.slot = words.rowid "
        "WHERE words MATCH ? AND m.status = 'active' ORDER BY bm25(words) LIMIT 10"
    )

    def search(question: str) -> object:
        terms = " OR ".join(f'"{term}"' for term, _ in words.query_terms(question))
        return db.execute(sql, [terms]).fetchall()

    return search


def _scan(kept: list[Memory]) -> Callable[[str], object]:
    embedder = StaticEmbedder()
    vectors = embedder.embed([scoring.passage(each) for each in kept], "passage")

    def search(question: str) -> object:
        cosine = vectors @ embedder.embed([question], "query")[0]
        best = np.argpartition(cosine, -10)[-10:]
        return [kept[int(n)] for n in best[np.argsort(-cosine[best])]]

    return search


def _overlap(kept: list[Memory]) -> Callable[[str], object]:
    sets = [set(words.content(each.text)) for each in kept]

    def search(question: str) -> object:
        asked = set(words.content(question))
        ranked = sorted(((len(asked & each), n) for n, each in enumerate(sets)), reverse=True)
        return [kept[n] for _, n in ranked[:10]]

    return search


def missed(result: dict[str, Any]) -> list[str]:
    """Which goals were missed, in words."""
    found: list[str] = []
    rows = result["rows"]
    for row in rows:
        if row["engine"] != "haru":
            continue
        size, p99 = row["memories"], row["wall_ms"]["p99"]
        if p99 >= GOALS_P99_MS.get(size, float("inf")):
            found.append(f"{size:,} memories: wait p99 is {p99} ms, not under {GOALS_P99_MS[size]}")
    return found


def plot(result: dict[str, Any], file: Path) -> None:
    """Growth of the median and p99 with the number of memories."""
    chart, axes = drawing.axes(8, 4.5)
    rows = result["rows"]
    for engine in dict.fromkeys(row["engine"] for row in rows):
        mine = [row for row in rows if row["engine"] == engine]
        sizes = [row["memories"] for row in mine]
        (line,) = axes.plot(sizes, [row["wall_ms"]["p50"] for row in mine], marker="o", label=f"{engine}, median")
        axes.plot(sizes, [row["wall_ms"]["p99"] for row in mine], "--", color=line.get_color(), label=f"{engine}, p99")
    axes.axhline(250, color="#b91c1c", linestyle=":", label="budget")
    axes.set(xscale="log", yscale="log", xlabel="memories", ylabel="ms")
    axes.legend(fontsize=8)
    drawing.save(chart, file)


if __name__ == "__main__":
    asyncio.run(_write(Path(sys.argv[1]), int(sys.argv[2])))
