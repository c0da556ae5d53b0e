"""PrecisionMemBench (tenurehq, MIT): does a search bring the belief that is wanted, and nothing else?

Thirty-five beliefs of a user of a writing and coding assistant, and 77 questions that say what must come back. The
rules are those of its authors' runner for other people's memories: what is pinned is given by other means and taken
out, the parts of a relation are added, each scope is searched by itself, and precision and recall are means over the
cases where anything was wanted or returned. Its canonical names and aliases are Haru's subjects and tags; what was
superseded or settled is retired.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from haru.bench.scorer import Scorer, documents
from haru.errors import HaruError
from haru.memory import Memory
from haru.ports import Embedder

BELIEFS = "beliefs.seed.json"
CASES = "retrieval.cases.json"
USER = "test-user"
MOST = 20
"""Beliefs that the authors' runner asks for."""
SIZE = 10
"""Most that Haru brings into a turn."""
GOAL_PRECISION = 0.50
GOAL_RECALL = 0.85

Belief = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Outcome:
    precision: float | None
    recall: float | None
    right: bool


def measure(folder: Path, level: str, embedder: Embedder) -> dict[str, Any]:
    """All single-question cases.

    Raises:
        HaruError: the folder does not hold the fixtures.
    """
    try:
        beliefs: list[Belief] = json.loads((folder / BELIEFS).read_text(encoding="utf-8"))
        cases: list[Mapping[str, Any]] = json.loads((folder / CASES).read_text(encoding="utf-8"))
        shelf = _Shelf(beliefs, embedder)
        outcomes = [_outcome(case, shelf) for case in cases]
    except OSError as error:
        raise HaruError(f"{error.filename} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise HaruError(f"{folder} does not hold the fixtures of PrecisionMemBench") from None
    if not any(each.recall is not None for each in outcomes):
        raise HaruError(f"{folder} does not hold the fixtures of PrecisionMemBench: no case tells what it wants")
    precisions = [each.precision for each in outcomes if each.precision is not None]
    recalls = [each.recall for each in outcomes if each.recall is not None]
    return {
        "level": level,
        "cases": len(cases),
        "mean_precision": round(sum(precisions) / len(precisions), 4),
        "mean_recall": round(sum(recalls) / len(recalls), 4),
        "passed": sum(each.right for each in outcomes),
    }


class _Shelf:
    """The beliefs, one corpus a user and scope."""

    def __init__(self, beliefs: Sequence[Belief], embedder: Embedder) -> None:
        self.by_id = {str(each["_id"]): each for each in beliefs}
        self._embedder = embedder
        self._scorers: dict[tuple[str, str], Scorer[str]] = {}

    def search(self, user: str, scope: str, query: str, size: int) -> list[str]:
        return self._scorer(user, scope)(query, size)

    def _scorer(self, user: str, scope: str) -> Scorer[str]:
        if (user, scope) not in self._scorers:
            memories = [_memory(each) for each in self.by_id.values() if _current(each, user, [scope])]
            self._scorers[user, scope] = Scorer(self._embedder, documents(memories, self._embedder), floor=True)
        return self._scorers[user, scope]

    def pinned(self, user: str, scopes: Sequence[str]) -> list[str]:
        return [
            key
            for key, each in self.by_id.items()
            if each["pinned"] and each["type"] != "open_question" and _current(each, user, scopes)
        ]

    def participants(self, found: Iterable[str], user: str, scopes: Sequence[str]) -> list[str]:
        relations = (self.by_id[key] for key in found if self.by_id[key]["type"] == "relation")
        parts: list[str] = [key for relation in relations for key in relation.get("participants", ())]
        return [
            key for key in parts if self.by_id[key]["type"] != "open_question" and _of(self.by_id[key], user, scopes)
        ]


def _outcome(case: Mapping[str, Any], shelf: _Shelf) -> _Outcome:
    user, scopes = case.get("userId", USER), case["scope"]
    most = case.get("budget", {}).get("maxBeliefs", MOST)
    pinned = shelf.pinned(user, scopes)
    by_scope = [shelf.search(user, scope, case["query"], min(most, SIZE)) if most else [] for scope in scopes]
    in_turn = (found[rank] for rank in range(SIZE) for found in by_scope if rank < len(found))
    found = [key for key in dict.fromkeys(in_turn) if key not in pinned][:most]
    found += [key for key in shelf.participants(found, user, scopes) if key not in {*found, *pinned}]
    returned = set(found[: max(0, most - len(pinned))])
    expected: Mapping[str, list[str]] = case["expect"].get("relevantBeliefs") or {}
    wanted = set(expected.get("shouldOnlyInclude", []))
    hits = len(returned & wanted)
    unlike = "shouldOnlyInclude" in expected and returned != wanted
    forbidden = returned & set(expected.get("mustExclude", []))
    return _Outcome(
        precision=None if not returned and not wanted else hits / len(returned) if returned else 0.0,
        recall=hits / len(wanted) if wanted else None,
        right=not unlike and not forbidden,
    )


def _current(belief: Belief, user: str, scopes: Sequence[str]) -> bool:
    return _of(belief, user, scopes) and not belief.get("superseded_by") and not belief.get("resolved_at")


def _of(belief: Belief, user: str, scopes: Sequence[str]) -> bool:
    return belief["user_id"] == user and bool(set(belief["scope"]) & set(scopes))


def _memory(belief: Belief) -> Memory:
    at = datetime(2026, 9, 1, tzinfo=UTC)
    return Memory(
        id=belief["_id"],
        text=belief["content"],
        subject=belief["canonical_name"].replace("_", " "),
        tags=tuple(belief["aliases"]),
        created_at=at,
        updated_at=at,
    )
