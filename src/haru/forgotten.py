"""Forgotten: tombstones of what was forgotten, so that no rebuild, retry or second telling of old turns revives it.

A tombstone holds ids and a salted fingerprint, never the text. It speaks of what was said before it: a person may
say the same thing again later, by choice.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import cast

from pydantic import ValidationError

from haru import words
from haru.errors import RecordError
from haru.lines import LineFile, decode
from haru.memory import Memory, Record, UtcTime


class Tombstone(Record):
    """One thing forgotten."""

    id: str
    salt: str
    fingerprint: str
    """Of the memory's content words, whatever their order."""
    turns: tuple[str, ...] = ()
    """The turns it rested on: nothing is learned from them again."""
    at: UtcTime


class Forgotten:
    """The file of tombstones. Its methods block; call them off the event loop."""

    def __init__(self, path: Path) -> None:
        self._file = LineFile(path)
        self._read_to = 0
        self._tombstones: list[Tombstone] = []

    def add(self, memory: Memory, at: datetime) -> None:
        """Remember that this was forgotten.

        Raises:
            haru.errors.LogUnwritable: the disk takes nothing now; then nothing must be erased either.
        """
        salt = secrets.token_hex(16)
        stone = Tombstone(
            id=memory.id,
            salt=salt,
            fingerprint=fingerprint(memory.text, salt),
            turns=tuple(sorted(turns_of(memory))),
            at=at,
        )
        self._file.append([stone.model_dump_json().encode()])

    def blocks(self, text: str, *, turns: Iterable[str] = (), said_at: datetime | None = None) -> bool:
        """Whether a memory of this text, from these turns, said then, is one that was forgotten."""
        resting_on = set(turns)
        return any(
            bool(resting_on & set(stone.turns))
            or ((said_at is None or said_at <= stone.at) and fingerprint(text, stone.salt) == stone.fingerprint)
            for stone in self._all()
        )

    def covers(self, memory: Memory) -> bool:
        """Whether a memory is one that was forgotten, under whatever id. One learned or written later is not."""
        return memory.id in self.ids() or self.blocks(memory.text, said_at=memory.created_at)

    def ids(self) -> set[str]:
        """Ids of all that was forgotten."""
        return {stone.id for stone in self._all()}

    def _all(self) -> list[Tombstone]:
        try:
            for line in self._file.read(self._read_to):
                self._read_to = line.end
                try:
                    self._tombstones.append(Tombstone.model_validate(decode(line)))
                except (RecordError, ValidationError):
                    continue  # torn by a power cut: what it was about was not erased then either
        except FileNotFoundError:
            pass
        return self._tombstones


def fingerprint(text: str, salt: str) -> str:
    """A one-way mark of a text's content words. Salted, so that nobody can look a guess up in a table."""
    body = " ".join(sorted(set(words.terms(text))))
    return hashlib.blake2b(body.encode(), key=bytes.fromhex(salt), digest_size=16).hexdigest()


def without_words(turn: Mapping[str, object]) -> dict[str, object]:
    """A turn's record of which only the fact is left that it took place. Never longer than it was."""
    left = {key: value for key, value in turn.items() if key not in {"findings", "receipt"}}
    left |= {key: "" for key in ("said", "reply", "spoken") if key in left}
    receipt = turn.get("receipt")
    if isinstance(receipt, Mapping):
        left["receipt"] = {key: value for key, value in cast("Mapping[str, object]", receipt).items() if key != "query"}
    return left


def encoded(record: Mapping[str, object]) -> bytes:
    """A record as a line."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")


def turns_of(memory: Memory) -> set[str]:
    """Ids of the turns that a memory rests on."""
    return {turn for each in memory.evidence for turn in each.turns}


def shares_turn(memory: Memory, other: Memory) -> bool:
    """Whether another memory rests on one of the same turns."""
    return memory.id != other.id and bool(turns_of(memory) & turns_of(other))


def unquoted(memory: Memory, gone: Memory) -> Memory:
    """A memory without its quotes from turns that a forgotten one rests on too: they may hold its words."""
    if not shares_turn(memory, gone):
        return memory
    shared = turns_of(gone)
    evidence = tuple(
        each.model_copy(update={"quote": ""}) if shared & set(each.turns) else each for each in memory.evidence
    )
    return memory.model_copy(update={"evidence": evidence})
