"""LoCoMo: questions about long conversations, with the turns that answer them. Read from a file that the person has.

The data (Snap Research, ACL 2024) is CC BY-NC 4.0: it is for evaluation and no part of this package.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from haru import words
from haru.errors import HaruError
from haru.memory import MAX_TEXT_CHARS, Memory
from haru.scoring import Document

Sort = Literal["observations", "turns"]
_TURN_ID = re.compile(r"D\s*:?\s*(\d+)\s*:\s*(\d+)")
_MOMENT = re.compile(r"\d+:\d+ [ap]m on (\d+) (\w+), (\d+)")
_TRICK = 5
"""Category of questions without an answer."""


@dataclass(frozen=True, slots=True)
class Passage:
    """What may be found: a sentence, the turns it covers, when it was said."""

    text: str
    covers: frozenset[str]
    at: datetime


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and the turns that answer it."""

    text: str
    answered_by: frozenset[str]
    category: int


@dataclass(frozen=True, slots=True)
class Store:
    """One conversation: what is known, and what is asked about it."""

    speakers: tuple[str, str]
    passages: tuple[Passage, ...]
    questions: tuple[Asked, ...]

    def found(self, asked: Asked, ranking: Sequence[int]) -> tuple[float, float, float]:
        """Recall@5, recall@10 and reciprocal rank of the evidence, among passages by number, best first."""

        def share(size: int) -> float:
            got = frozenset[str]().union(*(self.passages[n].covers for n in ranking[:size]))
            return len(got & asked.answered_by) / len(asked.answered_by)

        hits = [at for at, n in enumerate(ranking[:10], start=1) if self.passages[n].covers & asked.answered_by]
        return share(5), share(10), 1.0 / hits[0] if hits else 0.0


def memories(store: Store) -> list[Memory]:
    """What is known, as Haru keeps it: when it was said, and whom it is about. The ids are the numbers of passages."""
    return [
        Memory(
            id=f"mem-{number}",
            text=passage.text[:MAX_TEXT_CHARS],
            about=next((name for name in store.speakers if passage.text.startswith(name)), ""),
            created_at=passage.at,
            updated_at=passage.at,
        )
        for number, passage in enumerate(store.passages)
    ]


def numbers(ids: Sequence[str]) -> list[int]:
    """Numbers of the passages, from the ids of memories."""
    return [int(each.removeprefix("mem-")) for each in ids]


def text_alone(documents: Sequence[tuple[str, Document]], store: Store) -> list[tuple[str, Document]]:
    """The same without dates and persons, as other engines get it."""
    return [
        (key, replace(document, terms=tuple(words.terms(passage.text)), marks=()))
        for (key, document), passage in zip(documents, store.passages, strict=True)
    ]


def stores(file: Path, sort: Sort) -> list[Store]:
    """Every conversation, with machine-written observations or the turns themselves as what is known.

    Raises:
        HaruError: the file is not LoCoMo's.
    """
    try:
        return [_store(sample, sort) for sample in json.loads(file.read_text())]
    except OSError as error:
        raise HaruError(f"{file} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise HaruError(f"{file} is not locomo10.json of the LoCoMo repository") from None


def _store(sample: Mapping[str, Any], sort: Sort) -> Store:
    talk = sample["conversation"]
    passages = list(_observations(sample) if sort == "observations" else _turns(talk))
    there = {turn["dia_id"] for _, turns in _sessions(talk) for turn in turns}
    covered = frozenset[str]().union(*(passage.covers for passage in passages)) & there
    questions = [
        Asked(each["question"], frozenset(_ids(each["evidence"])) & covered, each["category"])
        for each in sample["qa"]
        if each["category"] != _TRICK
    ]
    answerable = tuple(each for each in questions if each.answered_by)
    return Store((talk["speaker_a"], talk["speaker_b"]), tuple(passages), answerable)


def _sessions(talk: Mapping[str, Any]) -> Iterator[tuple[datetime, list[dict[str, str]]]]:
    for key in talk:
        if re.fullmatch(r"session_\d+", key):
            yield _moment(talk[f"{key}_date_time"]), talk[key]


def _turns(talk: Mapping[str, Any]) -> Iterator[Passage]:
    for at, turns in _sessions(talk):
        for turn in turns:
            yield Passage(f"{turn['speaker']}: {turn['text']}", frozenset({turn["dia_id"]}), at)


def _observations(sample: Mapping[str, Any]) -> Iterator[Passage]:
    talk = sample["conversation"]
    for key in talk:
        if re.fullmatch(r"session_\d+", key):
            for sentences in sample["observation"].get(f"{key}_observation", {}).values():
                for text, evidence in sentences:
                    yield Passage(text, frozenset(_ids(evidence)), _moment(talk[f"{key}_date_time"]))


def _ids(evidence: object) -> Iterator[str]:
    """Turn ids, however they were written down."""
    for session, turn in _TURN_ID.findall(str(evidence)):
        yield f"D{int(session)}:{int(turn)}"


def _moment(told: str) -> datetime:
    match = _MOMENT.match(told)
    if not match:
        raise ValueError(told)
    return datetime.strptime(" ".join(match.groups()), "%d %B %Y").replace(tzinfo=UTC)
