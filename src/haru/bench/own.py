"""Haru's own sets: other words for the same thing, the same words, what nobody told, and small talk. One household."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from haru.bench import sets
from haru.bench.scorer import Scorer, documents
from haru.ports import Embedder

GOALS = {"paraphrase_recall@1": 0.63, "paraphrase_recall@5": 0.95, "keyword_recall@1": 0.97}


def measure(level: str, embedder: Embedder, *, floor: bool) -> dict[str, Any]:
    """All sets; as shipped, with the floor, or the bare ranking."""
    memories = sets.household()
    found = Scorer(embedder, documents(memories, embedder), floor=floor)
    paraphrased = [(found(each.question), each.answer) for each in sets.paraphrases()]
    named = [(found(each.question), each.answer) for each in sets.keywords()]
    unknown = [found(question) for question in sets.unknown()]
    talk = [found(each.text) for each in sets.small_talk()]
    return {
        "level": level,
        "floor": floor,
        "memories": len(memories),
        "paraphrases": len(paraphrased),
        "paraphrase_recall@1": _recall(paraphrased, 1),
        "paraphrase_recall@5": _recall(paraphrased, 5),
        "keywords": len(named),
        "keyword_recall@1": _recall(named, 1),
        "unknown": len(unknown),
        "unknown_brought_nothing": round(sum(not each for each in unknown) / len(unknown), 4),
        "small_talk": len(talk),
        "small_talk_injections": sum(bool(each) for each in talk),
    }


def _recall(answered: Sequence[tuple[Sequence[str], str]], size: int) -> float:
    return round(sum(answer in found[:size] for found, answer in answered) / len(answered), 4)
