"""`haru bench learn`: does feedback help questions that were never asked before, and does wrong feedback do harm?

LoCoMo's questions, store = one conversation, are split in two. Those of the first half are asked, and each memory that
truly answered is told so, as the writer does (`haru.learning`); in another run one judgment in five falls on a wrong
memory that came up instead. Then the second half is asked, which nobody asked before. It is reported for all its
questions and for those whose memory was told of at least once.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from haru import ranking, scoring
from haru.bench import drawing, figures
from haru.bench.levels import Once
from haru.bench.locomo import Asked, Store, memories, numbers, stores
from haru.bench.scorer import Scorer, documents
from haru.learning import learned
from haru.memory import Memory
from haru.ports import Embedder

WRONG = 0.2
DAYS = (0, 30, 90, 180, 365)
_DAY_S = 86_400.0

Row = dict[str, Any]


def run(data: Path, embedders: dict[str, Embedder], told: Callable[[str], None] = print) -> dict[str, Any]:
    """Each level: without feedback, with it, and with a fifth of it wrong."""
    kept = stores(data, "observations")
    rows: list[Row] = []
    for level, embedder in embedders.items():
        told(f"learning, {level}")
        rows += _level(level, kept, Once(embedder))
    return {
        "conditions": figures.conditions(
            embedders={level: each.id for level, each in embedders.items()}, wrong=WRONG, most_queries=5
        ),
        "rows": rows,
        "decay": [_decay(days) for days in DAYS],
    }


def _level(level: str, kept: Sequence[Store], embedder: Embedder) -> list[Row]:
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for number, store in enumerate(kept):
        known = memories(store)
        questions = list(store.questions)
        random.Random(number).shuffle(questions)
        first, second = questions[: len(questions) // 2], questions[len(questions) // 2 :]
        # not by what was judged: the same questions must be reported on in every run
        reached = {n for asked in first for n, each in enumerate(store.passages) if each.covers & asked.answered_by}
        for judged, wrong in (("none", 0.0), ("right", 0.0), ("a fifth wrong", WRONG)):
            taught = known if judged == "none" else _taught(known, first, store, embedder, wrong=wrong, seed=number)
            scorer = Scorer(embedder, documents(taught, embedder), floor=False)
            for asked in second:
                recall5, _, reciprocal = store.found(asked, numbers(scorer(asked.text)))
                found.setdefault((judged, "all"), []).append((recall5, reciprocal))
                if any(store.passages[n].covers & asked.answered_by for n in reached):
                    found.setdefault((judged, "told of before"), []).append((recall5, reciprocal))
    return [
        {
            "level": level,
            "judged": judged,
            "questions": among,
            "count": len(each),
            "recall@5": round(float(np.mean([recall for recall, _ in each])), 4),
            "mrr": round(float(np.mean([reciprocal for _, reciprocal in each])), 4),
        }
        for (judged, among), each in found.items()
    ]


def _taught(
    known: Sequence[Memory], asked: Sequence[Asked], store: Store, embedder: Embedder, *, wrong: float, seed: int
) -> list[Memory]:
    """The memories after the first half of the questions was asked and judged."""
    chance = random.Random(seed)
    scorer = Scorer(embedder, documents(known, embedder), floor=False)
    queries: dict[int, tuple[str, ...]] = {}
    uses: dict[int, int] = {}
    for question in asked:
        came_up = numbers(scorer(question.text))
        right = [n for n in came_up if store.passages[n].covers & question.answered_by]
        others = [n for n in came_up if n not in right]
        judged = others[: len(right) or 1] if chance.random() < wrong else right
        for n in judged:
            queries[n] = learned(queries.get(n, ()), [question.text])
            uses[n] = uses.get(n, 0) + 1
    return [
        memory.changed(expected_queries=queries.get(n, ()), use_count=uses.get(n, 0)) for n, memory in enumerate(known)
    ]


def _decay(days: int) -> Row:
    """What ten uses multiply a score by, so many days after the last one."""
    once = np.ones(1, np.float32)
    age_s = np.full(1, days * _DAY_S)
    return {
        "days": days,
        "factor": round(float(ranking.standing(3 * once, 10 * once, age_s, scoring.STATIC)[0]), 4),
    }


def missed(result: dict[str, Any]) -> list[str]:
    """Which goals were missed, in words."""
    found: list[str] = []
    by = {(row["level"], row["judged"], row["questions"]): row for row in result["rows"]}
    for (level, judged, among), row in by.items():
        before = by[level, "none", among]
        for key in ("recall@5", "mrr"):
            if judged == "right" and row[key] <= before[key]:
                found.append(f"{level}, {among}: {key} doesn't rise by feedback ({before[key]} to {row[key]})")
            if judged == "a fifth wrong" and row[key] < before[key]:
                found.append(f"{level}, {among}: {key} falls by wrong feedback ({before[key]} to {row[key]})")
    return found


def plot(result: dict[str, Any], file: Path) -> None:
    """MRR by what was judged."""
    chart, axes = drawing.axes(7, 4)
    rows = [row for row in result["rows"] if row["questions"] == "told of before"]
    names = [f"{row['level']}, feedback: {row['judged']}" for row in rows]
    axes.barh(names[::-1], [row["mrr"] for row in rows][::-1], color="#0f766e")
    axes.set_xlabel("MRR of questions never asked before, of memories told of before")
    drawing.save(chart, file)
