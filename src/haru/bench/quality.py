"""`haru bench quality`: does recall find what answers a question? LoCoMo's gold evidence, store = conversation.

In one run, on the same sentences and questions: Haru as it ships, the vectors alone, and the word overlap that a simple
fallback would use. The session's fallback ranks with the same scorer over the same memories, so its figures are Haru's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from haru import scoring, words
from haru.bench import drawing, figures
from haru.bench.locomo import Asked, Sort, Store, stores
from haru.corpus import corpus_for
from haru.ports import Embedder
from haru.scoring import Document

SIZE = 10
_BEFORE = ("um so", "hey haru", "okay so like", "uh can you tell me")
_AFTER = ("please", "you know", "again", "i mean")

Ranking = list[int]
"""Numbers of the passages found, best first."""
Search = Callable[[str], Ranking]


def run(data: Path, embedder: Embedder, told: Callable[[str], None] = print) -> dict[str, Any]:
    """Both sorts of sentences, with and without their dates, typed and spoken."""
    rows: list[dict[str, Any]] = []
    sorts: tuple[Sort, ...] = ("observations", "turns")
    for sort in sorts:
        told(f"LoCoMo, {sort}")
        rows += list(_rows(stores(data, sort), sort, embedder))
    return {"conditions": figures.conditions(embedder=embedder.id, size=SIZE), "rows": rows}


def _rows(all_stores: Sequence[Store], sort: Sort, embedder: Embedder) -> Iterator[dict[str, Any]]:
    prepared = [(store, embedder.embed([each.text for each in store.passages], "passage")) for store in all_stores]
    engines: dict[str, Callable[[Store, Any], Search]] = {
        "haru, text alone": lambda store, vectors: _haru(store, vectors, embedder, dated=False),
        "haru, with dates": lambda store, vectors: _haru(store, vectors, embedder, dated=True),
        "vectors alone": lambda _, vectors: _vectors(vectors, embedder),
        "word overlap": lambda store, _: _overlap(store),
    }
    for name, build in engines.items():
        searches = [(store, build(store, vectors)) for store, vectors in prepared]
        for form in ("typed", "spoken"):
            found = [
                _measure(asked, search(_spoken(asked.text, n) if form == "spoken" else asked.text), store)
                for store, search in searches
                for n, asked in enumerate(store.questions)
            ]
            recall5, recall10, reciprocal, returned = np.mean(found, axis=0)
            yield {
                "memories": sort,
                "engine": name,
                "form": form,
                "questions": len(found),
                "recall@5": round(float(recall5), 4),
                "recall@10": round(float(recall10), 4),
                "mrr": round(float(reciprocal), 4),
                "returned": round(float(returned), 2),
            }


def _measure(asked: Asked, ranking: Ranking, store: Store) -> tuple[float, float, float, float]:
    return (*store.found(asked, ranking), float(len(ranking)))


def _haru(store: Store, vectors: Any, embedder: Embedder, *, dated: bool) -> Search:
    documents: list[tuple[int, Document]] = []
    for number, passage in enumerate(store.passages):
        day = f"{passage.at:%B} {passage.at.day} {passage.at.year}" if dated else ""
        terms = words.terms(f"{passage.text} {day}")
        documents.append((number, Document(tuple(terms), tuple(words.name_sounds(passage.text)), vectors[number])))
    corpus = corpus_for(embedder, documents)

    def search(question: str) -> Ranking:
        content = " ".join(words.content(question))
        wanted = scoring.question(content, embedder.embed([content], "query")[0])
        return [each.key for each in corpus.rank(wanted, size=SIZE, now_s=0.0)]

    return search


def _vectors(vectors: Any, embedder: Embedder) -> Search:
    def search(question: str) -> Ranking:
        cosine = vectors @ embedder.embed([" ".join(words.content(question))], "query")[0]
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


def plot(result: dict[str, Any], file: Path) -> None:
    """Recall@10 by engine."""
    chart, axes = drawing.axes(8, 4)
    rows = [row for row in result["rows"] if row["form"] == "typed"]
    names = [f"{row['engine']} ({row['memories']})" for row in rows]
    axes.barh(names[::-1], [row["recall@10"] for row in rows][::-1], color="#0f766e")
    axes.set_xlabel("recall@10 of gold evidence, LoCoMo")
    axes.set_xlim(0, 1)
    drawing.save(chart, file)
