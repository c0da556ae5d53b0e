"""`haru bench peers`: Haru's search beside what people would use in its place, on the same memories and questions.

Everybody gets the sentences alone, one store for each conversation or household, and one compute thread; each engine
works in a process of its own. The vectors of passages are computed once for all peers; those of questions, and of
memories that are added one by one, are computed in the time that is measured, for every engine has to.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from haru.bench import drawing, figures, household
from haru.bench.engines import CHOICES, MODELS, SIZE, Choice, Encode, Engine
from haru.bench.locomo import Sort, Store, stores
from haru.embed.minilm import MiniLmEmbedder
from haru.errors import HaruError
from haru.memory import MAX_TEXT_CHARS
from haru.ports import Vectors

GOAL_MEM0 = 15.0
"""mem0's median over that of Haru's light level."""
GOAL_MEM0_MEMORIES = 10_000
LIGHT, FULL = "haru-light", "haru-full"
QUESTIONS = 200
FOUND = ("recall@5", "recall@10", "mrr", "returned")
_SORTS: tuple[Sort, ...] = ("observations", "turns")
_ADDED = 30
_WARM_UP = 20

Row = dict[str, Any]


@dataclass(frozen=True)
class Encoder:
    """MiniLM, with the vectors of some texts at hand."""

    known: Mapping[str, Vectors]

    def __call__(self, text: str) -> Vectors:
        """The vector of a text, looked up where it is known."""
        found = self.known.get(text)
        return self._model.embed([text], "query")[0] if found is None else found

    def learn(self, texts: Sequence[str]) -> Encoder:
        """One that knows these texts, and only these."""
        return Encoder({text: self(text) for text in texts})

    @cached_property
    def _model(self) -> MiniLmEmbedder:
        return MiniLmEmbedder(cache_dir=MODELS)


def chosen(names: Sequence[str]) -> list[Choice]:
    """The engines of these names, and always Haru, to which the ratios are; all where none is named.

    Raises:
        HaruError: there is no such engine.
    """
    if unknown := set(names) - {each.name for each in CHOICES}:
        raise HaruError(f"no engine is called {min(unknown)}; known are {', '.join(each.name for each in CHOICES)}")
    return [each for each in CHOICES if not names or each.name in (LIGHT, FULL, *names)]


def run(
    data: Path | None, sizes: Sequence[int], choices: Sequence[Choice], told: Callable[[str], None] = print
) -> dict[str, Any]:
    """What is found, where LoCoMo is given; then speed at each size."""
    result: dict[str, Any] = {
        "conditions": figures.conditions(questions=QUESTIONS, size=SIZE, fields="text alone"),
        "goals": {"mem0_over_light": GOAL_MEM0},
        "quality": [row for sort in _SORTS for row in _quality(sort, data, choices, told)] if data else [],
        "speed": [row for size in sizes for row in _speed(size, choices, told)],
    }
    packages = {package for each in choices if not each.missing() for package in each.packages.values()}
    result["conditions"]["versions"] |= {package: version(package) for package in sorted(packages)}
    return result


def _speed(size: int, choices: Sequence[Choice], told: Callable[[str], None]) -> list[Row]:
    kept = household.memories(size)
    texts = [each.text for each in kept]
    asked = household.questions(kept, QUESTIONS)
    rows = _each(choices, f"{size:,} memories", texts, told, timed, texts, asked)
    return with_ratios([{"memories": size, **row} for row in rows])


def _quality(sort: Sort, data: Path, choices: Sequence[Choice], told: Callable[[str], None]) -> list[Row]:
    kept = stores(data, sort)
    texts = [text for store in kept for text in _texts(store)]
    return [{"sort": sort, **row} for row in _each(choices, f"LoCoMo, {sort}", texts, told, measured, kept)]


def _each(
    choices: Sequence[Choice],
    part: str,
    texts: Sequence[str],
    told: Callable[[str], None],
    work: Callable[..., Row],
    *arguments: object,
) -> list[Row]:
    """A part of the run for one engine after the other, each in a fresh process."""
    encoder = Encoder({})
    if any(each.dense and not each.missing() for each in choices):
        told(f"{part}: the vectors")
        encoder = encoder.learn(texts)
    rows: list[Row] = []
    for choice in choices:
        row: Row = {"engine": choice.name}
        if command := choice.missing():
            rows.append({**row, "not_installed": command})
            continue
        told(f"{part}: {choice.name}")
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
            done = alone.submit(work, choice.name, encoder if choice.dense else Encoder({}), *arguments)
            rows.append({**row, **done.result()})
    return rows


def _build(name: str, encode: Encode, folder: Path) -> Engine:
    folder.mkdir(exist_ok=True)
    return next(each for each in CHOICES if each.name == name).build(encode, folder)


def timed(name: str, encode: Encode, texts: Sequence[str], asked: Sequence[str]) -> Row:
    """How long one engine takes for questions and for memories added one by one."""
    with tempfile.TemporaryDirectory(prefix="haru-bench-") as scratch:
        engine = _build(name, encode, Path(scratch))
        engine.add(texts)
        for question in asked[:_WARM_UP]:
            engine.search(question)
        wall, cpu = _times(engine.search, asked)
        fresh = household.memories(_ADDED, seed=13)
        add_wall, add_cpu = _times(lambda text: engine.add([text]), [each.text for each in fresh])
        rss_mib = figures.resident_mib()
        engine.close()
    return {
        "wall_ms": figures.summary(wall),
        "cpu_ms": figures.summary(cpu),
        "add_wall_ms": figures.summary(add_wall),
        "add_cpu_ms": figures.summary(add_cpu),
        "rss_mib": round(rss_mib, 1),
    }


def _times(work: Callable[[str], object], texts: Sequence[str]) -> tuple[list[float], list[float]]:
    """Wall and CPU time of each call, in ms; CPU of all threads together."""
    wall: list[float] = []
    cpu: list[float] = []
    for text in texts:
        began, cpu_before = time.perf_counter(), time.process_time()
        work(text)
        cpu.append((time.process_time() - cpu_before) * 1000)
        wall.append((time.perf_counter() - began) * 1000)
    return wall, cpu


def measured(name: str, encode: Encode, kept: Sequence[Store]) -> Row:
    """What one engine finds of the evidence, over all questions of all conversations."""
    found: list[tuple[float, ...]] = []
    with tempfile.TemporaryDirectory(prefix="haru-bench-") as scratch:
        for number, store in enumerate(kept):
            engine = _build(name, encode, Path(scratch) / str(number))
            engine.add(_texts(store))
            for asked in store.questions:
                ranking = engine.search(asked.text)
                found.append((*store.found(asked, ranking), float(len(ranking))))
            engine.close()
    means = np.mean(found, axis=0)
    return {"questions": len(found), **{key: round(float(mean), 4) for key, mean in zip(FOUND, means, strict=True)}}


def _texts(store: Store) -> list[str]:
    """Its passages, no longer than a memory may be: that cuts 15 of LoCoMo's 5,882 turns, for every engine."""
    return [passage.text[:MAX_TEXT_CHARS] for passage in store.passages]


def with_ratios(rows: Sequence[Row]) -> list[Row]:
    """Rows of one size, each with its median CPU time over those of Haru's two levels."""
    medians = _medians(rows)
    over = {key: medians[ours] for key, ours in (("times_light", LIGHT), ("times_full", FULL)) if ours in medians}
    return [
        row | {key: round(medians[row["engine"]] / median, 2) for key, median in over.items() if "cpu_ms" in row}
        for row in rows
    ]


def _medians(rows: Sequence[Row]) -> dict[str, float]:
    return {row["engine"]: row["cpu_ms"]["p50"] for row in rows if "cpu_ms" in row}


def missed(result: Mapping[str, Any]) -> list[str]:
    """Which goals were missed, in words."""
    return [told for met, told in _judged(result["speed"]) if met is False]


def unjudged(result: Mapping[str, Any]) -> list[str]:
    """Which goals could not be judged, in words."""
    return [told for met, told in _judged(result["speed"]) if met is None]


def _judged(rows: Sequence[Row]) -> Iterator[tuple[bool | None, str]]:
    """Of each goal: whether it was met, or ``None`` where nothing can tell, and what to say if it was not."""
    for size in dict.fromkeys(row["memories"] for row in rows):
        medians = _medians([row for row in rows if row["memories"] == size])
        light = medians.get(LIGHT)
        peers = [(medians[each.name], each.name) for each in CHOICES if each.peer and each.name in medians]
        if light is None or not peers:
            yield None, f"{size:,} memories: no peer was measured beside {LIGHT}"
        else:
            fastest, name = min(peers)
            yield light < fastest, f"{size:,} memories: {LIGHT} takes {light} ms at the median, {name} {fastest} ms"
        if size != GOAL_MEM0_MEMORIES:
            continue
        if light is None or "mem0" not in medians:
            yield None, f"{size:,} memories: mem0 was not measured beside {LIGHT}"
        else:
            ratio = medians["mem0"] / light
            told = f"{size:,} memories: mem0 takes {ratio:.1f} times as long as {LIGHT}, not {GOAL_MEM0:g}"
            yield ratio >= GOAL_MEM0, told


def tables(result: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]:
    """Title, head and rows of what was measured."""
    clocks = ("CPU p50, ms", "p95", "p99", "wall p50", "p95", "p99", "add one, CPU p50", "wall p50")
    head = ("memories", "engine", *clocks, "x light", "x full")
    rows = [
        (f"{row['memories']:,}", row["engine"], *_cells(row, _speed_cells, len(head) - 2)) for row in result["speed"]
    ]
    yield "Time of a search", head, rows
    if result["quality"]:
        head = ("sort", "engine", *FOUND)
        rows = [(row["sort"], row["engine"], *_cells(row, _found_cells, len(FOUND))) for row in result["quality"]]
        yield "What is found, LoCoMo", head, rows


def _cells(row: Row, cells: Callable[[Row], list[str]], width: int) -> list[str]:
    if "not_installed" in row:
        return [f"not installed: {row['not_installed']}", *[""] * (width - 1)]
    return cells(row)


def _speed_cells(row: Row) -> list[str]:
    times = [row[clock][point] for clock in ("cpu_ms", "wall_ms") for point in ("p50", "p95", "p99")]
    ratios = [f"{row[key]:.1f}" if key in row else "" for key in ("times_light", "times_full")]
    adding = [row[clock]["p50"] for clock in ("add_cpu_ms", "add_wall_ms")]
    return [*(f"{time:.2f}" for time in (*times, *adding)), *ratios]


def _found_cells(row: Row) -> list[str]:
    return [f"{row[key]:.3f}" for key in FOUND]


def plot(result: Mapping[str, Any], file: Path) -> None:
    """Median CPU time of a search, by engine and number of memories."""
    chart, axes = drawing.axes(8, 4.5)
    rows = [row for row in result["speed"] if "cpu_ms" in row]
    names = list(dict.fromkeys(row["engine"] for row in rows))[::-1]
    sizes = list(dict.fromkeys(row["memories"] for row in rows))
    for size in sizes:
        medians = _medians([row for row in rows if row["memories"] == size])
        places = [names.index(name) for name in medians]
        axes.plot(list(medians.values()), places, "o", label=f"{size:,} memories")  # a bar has no foot on such an axis
    axes.set_yticks(range(len(names)), names)
    axes.set(xscale="log", xlabel="CPU time of a search with the encoding of the question, median, ms")
    axes.legend(fontsize=8)
    drawing.save(chart, file)
