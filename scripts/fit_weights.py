"""Choose the scalars of the scorer on half of LoCoMo's conversations, and report them on the other half.

    python scripts/fit_weights.py PATH_TO_locomo10.json [light|full] [ROUNDS]

The conversations with even numbers choose, those with odd numbers are reported on and choose nothing. Each round
tries one scalar at a time at a few values and keeps what raises the mean recall@10 of observations and turns, with
and without dates and persons, as long as Haru's own keyword set stays whole; the paraphrase set is watched. Nothing
but this handful of scalars is taken from the data (CC BY-NC 4.0, for evaluation). The floors are not chosen here:
`haru bench quality` shows what they cost and bring.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path

import numpy as np

from haru import scoring
from haru.bench import sets
from haru.bench.levels import Once, embedders
from haru.bench.locomo import Store, memories, numbers, stores, text_alone
from haru.bench.scorer import Scorer, bare, documents
from haru.ports import Embedder
from haru.scoring import Weights

TRIED: dict[str, Sequence[float]] = {
    "lexical": (0.0, 0.05, 0.1, 0.15, 0.2, 0.25),
    "meaning": (0.1, 0.2, 0.25, 0.3, 0.35),
    "named": (0.05, 0.08, 0.12),
    "word": (0.2, 0.4, 0.7, 1.0),
    "near": (0.4, 0.5, 0.6, 0.8, 1.0),
    "nearest": (0.0, 0.25, 0.35, 0.45),
    "function": (0.1, 0.2, 0.4),
}


def main() -> None:
    data, level = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "light"
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    embedder = Once(embedders([level])[level])
    built = [
        (number, store, _scorer(store, embedder, told=told))
        for sort in ("observations", "turns")
        for number, store in enumerate(stores(data, sort))
        for told in (False, True)
    ]
    household = Scorer(embedder, documents(sets.household(), embedder), floor=False)
    fitted, held_out = ([each for each in built if each[0] % 2 == odd] for odd in (0, 1))
    chosen = bare(scoring.weights_for(embedder.id))
    best = recall(fitted, chosen)
    print(f"as shipped: {best:.4f} where chosen, {recall(held_out, chosen):.4f} held out")
    for _ in range(rounds):
        for name, values in TRIED.items():
            for value in values:
                tried = balanced(replace(chosen, **{name: value}))
                found = recall(fitted, tried)
                if found > best and own(sets.keywords(), household, tried, 1) >= 0.97:
                    chosen, best = tried, found
                    print(f"{name} {value}: {best:.4f}", flush=True)
    print(f"chosen: {best:.4f} where chosen, {recall(held_out, chosen):.4f} held out")
    print({each.name: getattr(chosen, each.name) for each in fields(chosen) if each.name in {*TRIED, "coverage"}})
    first, five = (own(sets.paraphrases(), household, chosen, size) for size in (1, 5))
    print(f"paraphrases: {first:.3f} first, {five:.3f} in five")


def balanced(weights: Weights) -> Weights:
    """The same with words, sentence and parts adding up to 1."""
    return replace(weights, coverage=round(1.0 - weights.lexical - weights.meaning, 4))


def recall(built: Sequence[tuple[int, Store, Scorer[str]]], weights: Weights) -> float:
    shares: list[float] = []
    for _, store, scorer in built:
        scorer.corpus.weights = weights
        shares += [store.found(asked, numbers(scorer(asked.text)))[1] for asked in store.questions]
    return float(np.mean(shares))


def own(asked: Sequence[sets.Asked], scorer: Scorer[str], weights: Weights, size: int) -> float:
    scorer.corpus.weights = weights
    return float(np.mean([each.answer in scorer(each.question, size) for each in asked]))


def _scorer(store: Store, embedder: Embedder, *, told: bool) -> Scorer[str]:
    known = documents(memories(store), embedder)
    return Scorer(embedder, known if told else text_alone(known, store), floor=False)


if __name__ == "__main__":
    main()
