"""Reader: searches the embedded index. Arrays of the active memories where they stand, FTS5 until then.

Used by one thread. The arrays are brought up to date before each question: ``PRAGMA data_version`` tells in
microseconds whether any process wrote, and the change numbers tell what.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from haru.corpus import CANDIDATES, SCAN_FLOATS, Background, Corpus, Read, corpus_for
from haru.index.schema import connect
from haru.memory import Memory, Status
from haru.ports import Clause, Embedder, Filters
from haru.scoring import Document, Question

BUILD_AT_ONCE = 2_000
"""A store up to this size is read into arrays at the first question, in tens of milliseconds; a larger one aside."""

CATCH_UP = 2_000
"""Changes up to this number are taken into the arrays before a question is answered."""

HELD_PARTS = 64 * 2**20
"""Bytes up to which the vectors of parts are held with the arrays; of a larger store the best hundred are looked up."""
_PARTS_EACH = 12
_UNREAD: Read = (b"", b"")

_COLUMNS = "slot, status, terms, sounds, marks, person, -importance_neg, use_count, -touched_neg"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The arrays as of one change number."""

    corpus: Corpus[int]
    seq: int
    whole: bool
    """The parts of texts are at hand too, and nothing need be looked up."""


class Reader:
    """The reading side of one process."""

    def __init__(
        self, path: Path, embedder: Embedder | None, busy_timeout_s: float, aside: Executor, record: type[Memory]
    ) -> None:
        self._record = record
        self._open: Callable[[], sqlite3.Connection] = lambda: connect(path, busy_timeout_s)
        self._db = self._open()
        self._embedder = embedder
        self._aside = aside
        self._snapshot: Snapshot | None = None
        self._version = -1
        self._building: Future[Snapshot] | None = None

    def search(self, question: Question, size: int, filters: Filters) -> list[tuple[Memory, float]]:
        """The best memories with their scores."""
        if not question.terms:
            return []
        self._refresh()
        if self._snapshot and filters.status is Status.ACTIVE and not filters.clauses:
            ranked = self._snapshot.corpus.rank(
                question, size=size, now_s=time.time(), look_up=None if self._snapshot.whole else self._look_up
            )
        else:
            ranked = self._candidates(question, filters).rank(question, size=size, now_s=time.time())
        slots = [each.key for each in ranked]
        bodies = dict(self.memories(f"SELECT slot, body FROM memories WHERE slot IN ({marks(slots)})", slots))
        return [(bodies[each.key], each.score) for each in ranked if each.key in bodies]

    def build(self) -> Future[Snapshot] | None:
        """Begin to read the arrays, unless they stand or are being read."""
        if self._snapshot is None and self._building is None:
            self._building = self._aside.submit(self._read_all)
        return self._building

    def one(self, sql: str, *values: object) -> Any:
        """The first row of a query."""
        return self._db.execute(sql, values).fetchone()

    def rows(self, sql: str, values: Iterable[object] = ()) -> list[Any]:
        """All rows of a query."""
        return self._db.execute(sql, tuple(values)).fetchall()

    def memories(self, sql: str, values: Iterable[object] = ()) -> list[tuple[Any, Memory]]:
        """The memories of a query, each with its key; the query gives key and body."""
        return [(key, self._record.model_validate_json(body)) for key, body in self.rows(sql, values)]

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    # -- keeping the arrays fresh

    def _refresh(self) -> None:
        if self._building and self._building.done():
            building, self._building = self._building, None
            self._snapshot, self._version = building.result(), -1
        if self._snapshot is None:
            if self._building is None and self.one("SELECT count(*) FROM memories")[0] <= BUILD_AT_ONCE:
                self._snapshot = _snapshot(self._db, self._embedder)
            else:
                self.build()
                return
        version = int(self.one("PRAGMA data_version")[0])
        if version != self._version:
            behind = self.one("SELECT count(*) FROM memories WHERE seq > ?", self._snapshot.seq)[0]
            if behind > CATCH_UP:  # an import, say: full text answers while the arrays are read anew
                self._snapshot = None
                self.build()
                return
            self._snapshot = self._caught_up(self._snapshot)
            self._version = version
        if self._snapshot.corpus.worn and self._building is None:
            self._building = self._aside.submit(self._read_all)

    def _caught_up(self, old: Snapshot) -> Snapshot:
        self._db.execute("BEGIN")
        try:
            seq = _seq(self._db)
            for (slot,) in self.rows("SELECT slot FROM erased WHERE seq > ?", [old.seq]):
                old.corpus.drop(slot)
            changed = self.rows(f"SELECT {_COLUMNS} FROM memories WHERE seq > ? ORDER BY seq", [old.seq])
            vectors = _vectors(self._db, self._embedder, [row[0] for row in changed], whole=old.whole)
        finally:
            self._db.execute("COMMIT")
        for row in changed:
            if row[1] == Status.ACTIVE:
                old.corpus.put(row[0], _document(row, *vectors.get(row[0], _UNREAD)))
            else:
                old.corpus.drop(row[0])
        return Snapshot(old.corpus, seq, old.whole)

    def _read_all(self) -> Snapshot:
        db = self._open()
        try:
            return _snapshot(db, self._embedder)
        finally:
            db.close()

    def _look_up(self, slots: Sequence[int]) -> dict[int, Read]:
        """Vectors of memories and of their parts."""
        return _vectors(self._db, self._embedder, slots, whole=True)

    # -- before the arrays stand

    def _candidates(self, question: Question, filters: Filters) -> Corpus[int]:
        """The hundred best by FTS5, with the whole store's statistics, for the same scorer to rank."""
        holding = self._holding(question)
        spelt = [_quoted(term) for term, _ in question.terms if term in holding]
        heard = [_quoted(sound) for term, sound in question.terms if term not in holding and "~" + sound in holding]
        wanted = [
            f"{column} : ({' OR '.join(any_of)})" for column, any_of in (("terms", spelt), ("sounds", heard)) if any_of
        ]
        if not wanted:
            return Corpus()
        condition, values = where(filters)
        found = self.rows(
            f"SELECT {_COLUMNS} FROM memories JOIN words ON words.rowid = slot "
            f"WHERE words MATCH ? AND {condition} ORDER BY words.rank LIMIT {CANDIDATES}".replace(
                "slot, status, terms, sounds", "slot, status, memories.terms, memories.sounds"
            ),
            [" OR ".join(wanted), *values],
        )
        memories, length = self.one(f"SELECT count(*), avg(length) FROM memories WHERE {condition}", *values)
        readings = self._look_up([row[0] for row in found])
        documents = [(row[0], _document(row, *readings.get(row[0], _UNREAD))) for row in found]
        return corpus_for(self._embedder, documents, Background(memories, holding, length or 1.0))

    def _holding(self, question: Question) -> dict[str, int]:
        """In how many memories each term stands, and each sound (marked ``~``)."""
        asked = sorted({each for pair in question.terms for each in pair if each})
        # the tokenizer folds case once more, and keys of sounds are in capitals
        rows = self.rows(
            f"SELECT term, col, doc FROM vocabulary WHERE term IN ({marks(asked)})", [each.lower() for each in asked]
        )
        counts = {(term, column): count for term, column, count in rows}
        spelt = {each: counts[each.lower(), "terms"] for each in asked if (each.lower(), "terms") in counts}
        heard = {"~" + each: counts[each.lower(), "sounds"] for each in asked if (each.lower(), "sounds") in counts}
        return spelt | heard


def marks(values: Sequence[object]) -> str:
    """As many question marks as there are values."""
    return ", ".join("?" * len(values))


def where(filters: Filters) -> tuple[str, list[object]]:
    """A condition on memories, and its values."""
    wanted = [("status = ?", filters.status), ("person = ?", filters.person)]
    parts: list[tuple[str, list[object]]] = [(sql, [str(value)]) for sql, value in wanted if value is not None]
    parts += [_clause(clause) for clause in filters.clauses]
    return " AND ".join(sql for sql, _ in parts) or "1", [value for _, values in parts for value in values]


def _clause(clause: Clause) -> tuple[str, list[object]]:
    """A condition on a field of a carried document; of a list, on any element."""
    tests: list[str] = []
    values: list[object] = []
    if clause.values:
        tests.append(f"value IN ({marks(clause.values)})")
        values += clause.values
    for bound, sign in ((clause.at_least, ">="), (clause.at_most, "<=")):
        if bound is not None:
            tests.append(f"value {sign} ? AND (typeof(value) = 'text') = {int(isinstance(bound, str))}")
            values.append(bound)
    path = f"$.content.{json.dumps(clause.field)}"
    return f"EXISTS (SELECT 1 FROM json_each(body, ?) WHERE {' AND '.join(tests) or '1'})", [path, *values]


def _snapshot(db: sqlite3.Connection, embedder: Embedder | None) -> Snapshot:
    db.execute("BEGIN")
    try:
        seq = _seq(db)
        rows = db.execute(f"SELECT {_COLUMNS} FROM memories WHERE status = 'active'").fetchall()
        floats = len(rows) * embedder.dim if embedder else 0
        whole = floats * _PARTS_EACH <= HELD_PARTS
        vectors = _vectors(db, embedder, whole=whole) if floats <= SCAN_FLOATS else {}
    finally:
        db.execute("COMMIT")
    documents = ((row[0], _document(row, *vectors.get(row[0], _UNREAD))) for row in rows)
    return Snapshot(corpus_for(embedder, documents), seq, whole)


def _vectors(
    db: sqlite3.Connection, embedder: Embedder | None, slots: Sequence[int] | None = None, *, whole: bool
) -> dict[int, Read]:
    """Vectors of this embedder, of some memories or of all; with ``whole``, those of their parts too."""
    if embedder is None or slots == []:
        return {}
    condition = "" if slots is None else f" AND slot IN ({marks(slots)})"
    tokens = "tokens" if whole else "x''"
    rows = db.execute(
        f"SELECT slot, vector, {tokens} FROM vectors WHERE embedder = ?{condition}", [embedder.id, *(slots or ())]
    )
    return {slot: (vector, parts) for slot, vector, parts in rows if len(vector) == 4 * embedder.dim}


def _document(row: Any, vector: bytes, tokens: bytes) -> Document:
    _, _, terms, sounds, marks, person, importance, use_count, touched_ms = row
    return Document(
        terms=tuple(terms.split()),
        sounds=tuple(sounds.split()),
        marks=tuple(marks.split()),
        vector=np.frombuffer(vector, np.float32) if vector else None,
        tokens=tokens or None,
        person=person,
        importance=importance,
        use_count=use_count,
        touched_s=touched_ms / 1000,
    )


def _seq(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT value FROM meta WHERE key = 'seq'").fetchone()[0])


def _quoted(term: str) -> str:
    """A term as an FTS5 string, in which nothing is an operator."""
    return '"' + term.replace('"', '""') + '"'
