"""`haru bench quality`: does recall find what answers a question, and say nothing where nothing does?

In one run and for both levels (the word table that is always there, and MiniLM): LoCoMo's gold evidence, store = one
conversation; the same questions put to the wrong conversation; PrecisionMemBench; and Haru's own sets. Beside them the
vectors alone, and the word overlap that a simple fallback would use.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from haru import words
from haru.bench import drawing, fallback, figures, own, precision
from haru.bench.levels import Once
from haru.bench.locomo import Asked, Sort, Store, memories, numbers, stores, text_alone
from haru.bench.scorer import SIZE, Scorer, documents
from haru.ports import Embedder

FITTED = "even"
"""Conversations whose number is even chose the weights (`scripts/fit_weights.py`); the others are kept apart."""
GOALS: dict[str, dict[tuple[str, str], float]] = {
    "light": {
        ("observations", "text alone"): 0.745,
        ("turns", "text alone"): 0.644,
        ("observations", "dates and persons"): 0.772,
        ("turns", "dates and persons"): 0.674,
    },
    "full": {
        ("observations", "text alone"): 0.785,
        ("turns", "text alone"): 0.70,
        ("observations", "dates and persons"): 0.809,
        ("turns", "dates and persons"): 0.724,
    },
}
SPOKEN_LOSES = 0.015
NOTHING = 0.60
"""Of questions that nothing answers, those that must bring nothing; for the full level."""
KEPT = 0.95
"""Of questions whose answer is found, those that must keep it under the floor."""
COLUMNS = {
    "locomo": ("sort", "engine", "fields", "form", "recall@5", "recall@10", "mrr", "returned"),
    "fallback": ("level", "answered", "recall@10", "precision", "returned"),
    "unanswerable": ("sort", "level", "brought_nothing", "kept_their_answer"),
    "own": (
        "level",
        "floor",
        "paraphrase_recall@1",
        "paraphrase_recall@5",
        "keyword_recall@1",
        "unknown_brought_nothing",
        "small_talk_injections",
    ),
    "precision": ("level", "mean_precision", "mean_recall", "passed", "cases"),
}
"""What the tables show."""
_BEFORE = ("um so", "hey haru", "okay so like", "uh can you tell me")
_AFTER = ("please", "you know", "again", "i mean")

Row = dict[str, Any]
Ranking = list[int]
"""Numbers of the passages found, best first."""
Search = Callable[[str], Ranking]


def run(
    data: Path | None, beliefs: Path | None, embedders: dict[str, Embedder], told: Callable[[str], None] = print
) -> dict[str, Any]:
    """Everything that the data given allows.

    Args:
        data: ``locomo10.json``, or none.
        beliefs: folder of PrecisionMemBench's fixtures, or none.
        embedders: by level.
        told: hears of progress.
    """
    result: dict[str, Any] = {
        "conditions": figures.conditions(
            embedders={level: each.id for level, each in embedders.items()}, size=SIZE, fitted_on=FITTED
        )
    }
    result["own"] = [
        own.measure(level, embedder, floor=floor) for level, embedder in embedders.items() for floor in (False, True)
    ]
    if beliefs:
        result["precision"] = [precision.measure(beliefs, level, embedder) for level, embedder in embedders.items()]
    if data:
        locomo: list[Row] = []
        unanswerable: list[Row] = []
        once = {level: Once(embedder) for level, embedder in embedders.items()}
        result |= {"locomo": locomo, "unanswerable": unanswerable}
        sorts: tuple[Sort, ...] = ("observations", "turns")
        for sort in sorts:
            kept = stores(data, sort)
            for level, embedder in once.items():
                told(f"LoCoMo, {sort}, {level}")
                locomo += list(_rows(sort, level, kept, embedder))
                unanswerable.append(_unanswerable(sort, level, kept, embedder))
            locomo += list(_overlap_rows(sort, kept))
        told("LoCoMo, with an index that answers in some turns only")
        result["fallback"] = [
            row for level, embedder in once.items() for row in asyncio.run(fallback.measure(data, level, embedder))
        ]
    return result


def _rows(sort: Sort, level: str, kept: Sequence[Store], embedder: Embedder) -> Iterator[Row]:
    for fields in ("text alone", "dates and persons"):
        for floor in (False, True):
            engine = f"haru, {level}, with its floor" if floor else f"haru, {level}"
            searches = [(store, _search(store, embedder, told=fields != "text alone", floor=floor)) for store in kept]
            for form in ("typed", "spoken"):
                yield from _measured(searches, sort=sort, engine=engine, fields=fields, form=form)
    vectors = [(store, _vectors(store, embedder)) for store in kept]
    yield from _measured(vectors, sort=sort, engine=f"vectors alone, {level}", fields="text alone", form="typed")


def _overlap_rows(sort: Sort, kept: Sequence[Store]) -> Iterator[Row]:
    searches = [(store, _overlap(store)) for store in kept]
    yield from _measured(searches, sort=sort, engine="word overlap", fields="text alone", form="typed")


def _measured(searches: Sequence[tuple[Store, Search]], **row: str) -> Iterator[Row]:
    """One row for all conversations, one for those that had no part in choosing the weights."""
    for held_out in (False, True):
        found = [
            _found(store, asked, search(_spoken(asked.text, n) if row["form"] == "spoken" else asked.text))
            for number, (store, search) in enumerate(searches)
            if not held_out or number % 2
            for n, asked in enumerate(store.questions)
        ]
        recall5, recall10, reciprocal, returned = np.mean(found, axis=0)
        yield {
            **row,
            "conversations": "held out" if held_out else "all",
            "questions": len(found),
            "recall@5": round(float(recall5), 4),
            "recall@10": round(float(recall10), 4),
            "mrr": round(float(reciprocal), 4),
            "returned": round(float(returned), 2),
        }


def _found(store: Store, asked: Asked, ranking: Ranking) -> tuple[float, float, float, float]:
    """What `Store.found` tells, and how many came back."""
    return (*store.found(asked, ranking), float(len(ranking)))


def _unanswerable(sort: Sort, level: str, kept: Sequence[Store], embedder: Embedder) -> Row:
    """Each conversation is asked its own questions, and those of the next one with the names of its own people."""
    empty: list[bool] = []
    answered: list[bool] = []
    for number, store in enumerate(kept):
        ranked, returned = (_search(store, embedder, told=True, floor=floor) for floor in (False, True))
        for asked in store.questions:
            if store.found(asked, ranked(asked.text))[1]:
                answered.append(store.found(asked, returned(asked.text))[1] > 0)
        other = kept[(number + 1) % len(kept)]
        empty += [not returned(_renamed(asked.text, other.speakers, store.speakers)) for asked in other.questions]
    return {
        "sort": sort,
        "level": level,
        "unanswerable": len(empty),
        "brought_nothing": round(float(np.mean(empty)), 4),
        "answerable": len(answered),
        "kept_their_answer": round(float(np.mean(answered)), 4),
    }


def _renamed(question: str, names: Sequence[str], to: Sequence[str]) -> str:
    for old, new in zip(names, to, strict=True):
        question = re.sub(rf"\b{old}\b", new, question)
    return question


def _search(store: Store, embedder: Embedder, *, told: bool, floor: bool) -> Search:
    """Haru's scorer over the passages; with ``told``, it knows when they were said and whom they are about."""
    known = documents(memories(store), embedder)
    scorer = Scorer(embedder, known if told else text_alone(known, store), floor=floor)
    return lambda question: numbers(scorer(question))


def _vectors(store: Store, embedder: Embedder) -> Search:
    vectors = embedder.embed([each.text for each in store.passages], "passage")

    def search(question: str) -> Ranking:
        cosine = vectors @ embedder.embed([question], "query")[0]
        return [int(n) for n in np.argsort(-cosine)[:SIZE]]

    return search


def _overlap(store: Store) -> Search:
    sets = [set(words.content(passage.text)) for passage in store.passages]

    def search(question: str) -> Ranking:
        asked = set(words.content(question))
        return sorted(range(len(sets)), key=lambda n: -len(asked & sets[n]))[:SIZE]

    return search


def _spoken(question: str, number: int) -> str:
    """Filler around it, lower case, no punctuation: what a recogniser hands on."""
    plain = re.sub(r"[^\w\s']", "", question.lower())
    return f"{_BEFORE[number % len(_BEFORE)]} {plain} {_AFTER[number % len(_AFTER)]}"


def missed(result: dict[str, Any]) -> list[str]:
    """Which goals were missed, in words."""
    return [
        *_locomo_missed(result.get("locomo", ())),
        *_floor_missed(result),
        *fallback.missed(result.get("fallback", ())),
    ]


def _locomo_missed(rows: Sequence[Row]) -> Iterator[str]:
    found = {
        (row["engine"], row["sort"], row["fields"], row["form"]): row["recall@10"]
        for row in rows
        if row["conversations"] == "all"
    }
    for level, goals in GOALS.items():
        for (sort, fields), goal in goals.items():
            typed, spoken = (found.get((f"haru, {level}", sort, fields, form)) for form in ("typed", "spoken"))
            if typed is None or spoken is None:
                continue
            if typed < goal:
                yield f"LoCoMo, {sort}, {fields}, {level}: recall@10 is {typed}, not {goal}"
            if typed - spoken > SPOKEN_LOSES:
                yield f"LoCoMo, {sort}, {fields}, {level}: the spoken form loses {typed - spoken:.4f}"


def _floor_missed(result: dict[str, Any]) -> Iterator[str]:
    for row in result.get("unanswerable", ()):
        if row["level"] == "full" and row["brought_nothing"] < NOTHING:
            yield f"unanswerable, {row['sort']}: {row['brought_nothing']} bring nothing, not {NOTHING}"
        if row["kept_their_answer"] < KEPT:
            yield f"answerable, {row['sort']}, {row['level']}: {row['kept_their_answer']} kept their answer, not {KEPT}"
    for row in result.get("own", ()):
        if row["level"] == "full" and not row["floor"]:
            yield from (
                f"own sets: {key} is {row[key]}, not {goal}" for key, goal in own.GOALS.items() if row[key] < goal
            )
        if row["floor"] and row["small_talk_injections"]:
            yield f"small talk, {row['level']}: {row['small_talk_injections']} utterances brought something"
    for row in result.get("precision", ()):
        if row["mean_precision"] < precision.GOAL_PRECISION or row["mean_recall"] < precision.GOAL_RECALL:
            yield f"PrecisionMemBench, {row['level']}: {row['mean_precision']} at {row['mean_recall']}"


def plot(result: dict[str, Any], file: Path) -> None:
    """Recall@10 by engine."""
    chart, axes = drawing.axes(9, 5)
    rows = [
        row
        for row in result.get("locomo", ())
        if row["form"] == "typed" and row["conversations"] == "all" and "floor" not in row["engine"]
    ]
    names = [f"{row['engine']}, {row['fields']} ({row['sort']})" for row in rows]
    colours = ["#0f766e" if row["engine"].startswith("haru") else "#94a3b8" for row in rows]
    axes.barh(names[::-1], [row["recall@10"] for row in rows][::-1], color=colours[::-1])
    axes.set_xlabel("recall@10 of gold evidence, LoCoMo")
    axes.set_xlim(0, 1)
    axes.tick_params(axis="y", labelsize=7)
    drawing.save(chart, file)
