"""Haru's own evaluation sets. See README.md beside them for what each is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files

from haru.memory import Kind, Memory


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and the id of the memory that answers it."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Said:
    """An utterance that must bring nothing, and its language (ISO 639-1)."""

    text: str
    language: str


def household() -> list[Memory]:
    """What is remembered."""
    at = datetime(2026, 11, 1, tzinfo=UTC)
    return [
        Memory(id=key, subject=subject, kind=Kind(kind), about=about, text=text, created_at=at, updated_at=at)
        for key, subject, kind, about, text in (line.split("|") for line in _lines("household"))
    ]


def paraphrases() -> list[Asked]:
    """Questions in other words than the memory that answers them."""
    return [Asked(*line.split("|")) for line in _lines("paraphrases")]


def keywords() -> list[Asked]:
    """Questions in words of the memory that answers them."""
    return [Asked(*line.split("|")) for line in _lines("keywords")]


def unknown() -> list[str]:
    """Questions that no memory answers."""
    return _lines("unknown")


def small_talk() -> list[Said]:
    """Utterances that ask for nothing."""
    return [Said(text, language) for language, text in (line.split("|") for line in _lines("small_talk"))]


def _lines(name: str) -> list[str]:
    text = (files(__name__) / f"{name}.txt").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]
