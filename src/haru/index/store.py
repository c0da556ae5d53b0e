"""Store: writes the embedded index. Used by one thread; every transaction is short."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

from haru import scoring
from haru.coverage import stored
from haru.errors import IndexFailure
from haru.index.schema import connect, next_seq, transaction
from haru.memory import Feedback, Memory
from haru.order import touched_ms
from haru.ports import Embedder, Reading
from haru.scoring import Document

logger = logging.getLogger(__name__)

_ANALYSED_AT_ONCE = 500
_CHECKPOINT_TRIES = 5
_CHECKPOINT_PAUSE_S = 0.1

_COLUMNS = "id, seq, body, status, person, kind, use_count, importance_neg, touched_neg, length, terms, sounds, marks"
_UPSERT = (
    f"INSERT INTO memories ({_COLUMNS}) VALUES ({', '.join('?' * 13)}) ON CONFLICT (id) DO UPDATE SET "
    + ", ".join(f"{column} = excluded.{column}" for column in _COLUMNS.split(", ")[1:])
    + " RETURNING slot"
)


class Store:
    """The writing side of one process."""

    def __init__(self, path: Path, embedder: Embedder | None, busy_timeout_s: float, record: type[Memory]) -> None:
        self._record = record
        self._db = connect(path, busy_timeout_s)
        self._embedder = embedder
        self._analyse_anew()

    def put(self, memories: Sequence[Memory], *, alone: bool = False) -> None:
        """Add or replace, all or none; with ``alone``, no other memory stays."""
        readings = self._read(memories)  # before the transaction: others must not wait for a model
        documents = [scoring.document(memory) for memory in memories]
        with transaction(self._db):
            if alone:
                kept = {memory.id for memory in memories}
                self._erase([key for (key,) in self._db.execute("SELECT id FROM memories") if key not in kept])
            for row, memory in enumerate(memories):
                self._put(memory, documents[row], readings[row] if readings else None)
            if alone:
                self._merge_words()
        if alone:
            self._empty_log()

    def _analyse_anew(self) -> None:
        """Bring terms up to date that an earlier version of the analysis made; once a version."""
        known = "SELECT value FROM meta WHERE key = 'analysis'"
        if self._db.execute(known).fetchone() == (str(scoring.ANALYSIS),):
            return
        after = 0
        some = f"SELECT slot, seq, body FROM memories WHERE slot > ? ORDER BY slot LIMIT {_ANALYSED_AT_ONCE}"
        while rows := self._db.execute(some, [after]).fetchall():
            memories = [self._record.model_validate_json(body) for _, _, body in rows]
            documents = [scoring.document(memory) for memory in memories]
            with transaction(self._db):
                for (slot, seq, _), memory, document in zip(rows, memories, documents, strict=True):
                    same = "SELECT 1 FROM memories WHERE slot = ? AND seq = ?"
                    if self._db.execute(same, [slot, seq]).fetchone():  # else it was changed meanwhile, and analysed
                        self._put(memory, document, None, same_text=True)
            after = rows[-1][0]
        self._db.execute("INSERT OR REPLACE INTO meta VALUES ('analysis', ?)", [str(scoring.ANALYSIS)])

    def _put(self, memory: Memory, document: Document, reading: Reading | None, *, same_text: bool = False) -> None:
        terms, sounds = " ".join(document.terms), " ".join(document.sounds)
        values = (
            memory.id, next_seq(self._db), memory.model_dump_json(), memory.status, memory.person, memory.kind,
            memory.use_count, -memory.importance, -touched_ms(memory), len(document.terms), terms, sounds,
            " ".join(document.marks),
        )  # fmt: skip
        (slot,) = self._db.execute(_UPSERT, values).fetchone()
        self._db.execute("DELETE FROM words WHERE rowid = ?", [slot])
        learned = " ".join(mark for mark in document.marks if mark.startswith(scoring.LEARNED))
        values = [slot, f"{terms} {learned}", sounds]
        self._db.execute("INSERT INTO words (rowid, terms, sounds) VALUES (?, ?, ?)", values)
        if not same_text:
            self._db.execute("DELETE FROM vectors WHERE slot = ?", [slot])
        if reading and self._embedder:
            self._put_reading(slot, self._embedder.id, reading)

    def _put_reading(self, slot: int, embedder: str, reading: Reading) -> None:
        values = [slot, embedder, reading.vector.tobytes(), stored(reading.tokens)]
        self._db.execute("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)", values)

    def erase(self, ids: Sequence[str]) -> None:
        """Remove memories, and overwrite where they stood; again too, for the first time may have been cut short."""
        with transaction(self._db):
            self._erase(ids)
            self._merge_words()
        self._empty_log()

    def _merge_words(self) -> None:
        """Deleted words stay in old segments of the full-text index until these are merged."""
        self._db.execute("INSERT INTO words (words) VALUES ('optimize')")

    def _empty_log(self) -> None:
        """What was erased still stands in the write-ahead file until that is emptied."""
        for _ in range(_CHECKPOINT_TRIES):
            if not self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                return
            time.sleep(_CHECKPOINT_PAUSE_S)
        logger.warning("a reader is busy: what was erased leaves the write-ahead file with a later change")

    def _erase(self, ids: Sequence[str]) -> int:
        gone = 0
        for key in ids:
            row = self._db.execute("DELETE FROM memories WHERE id = ? RETURNING slot", [key]).fetchone()
            if row:
                gone += 1
                self._db.execute("DELETE FROM words WHERE rowid = ?", row)
                self._db.execute("DELETE FROM vectors WHERE slot = ?", row)
                self._db.execute("INSERT INTO erased VALUES (?, ?)", [next_seq(self._db), row[0]])
            self._db.execute("DELETE FROM feedback WHERE memory_id = ?", [key])
        return gone

    def feedback(self, event: Feedback) -> None:
        """Keep an event, once."""
        values = [event.id, event.memory_id, event.ref.query_id, event.position, event.at.isoformat()]
        with transaction(self._db):
            self._db.execute("INSERT OR IGNORE INTO feedback VALUES (?, ?, ?, ?, ?)", values)

    def lacking(self, limit: int) -> list[tuple[int, int, Memory]]:
        """Slot, change number and memory of some that have no vector of this embedder."""
        if self._embedder is None:
            return []
        rows = self._db.execute(
            "SELECT slot, seq, body FROM memories m WHERE NOT EXISTS "
            "(SELECT 1 FROM vectors v WHERE v.slot = m.slot AND v.embedder = ?) LIMIT ?",
            [self._embedder.id, limit],
        ).fetchall()
        return [(slot, seq, self._record.model_validate_json(body)) for slot, seq, body in rows]

    def add_readings(self, rows: Sequence[tuple[int, int, Memory]], readings: Sequence[Reading]) -> None:
        """Vectors for memories as they were read; one that changed meanwhile is left for the next round."""
        if self._embedder is None:
            return
        with transaction(self._db):
            for (slot, seq, _), reading in zip(rows, readings, strict=True):
                changed = self._db.execute(
                    "UPDATE memories SET seq = ? WHERE slot = ? AND seq = ?", [next_seq(self._db), slot, seq]
                ).rowcount
                if changed:
                    self._put_reading(slot, self._embedder.id, reading)

    def drop_other_vectors(self) -> None:
        """Vectors of earlier embedders are of no use once all memories have this one's."""
        if self._embedder:
            with transaction(self._db):
                self._db.execute("DELETE FROM vectors WHERE embedder <> ?", [self._embedder.id])

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def _read(self, memories: Sequence[Memory]) -> list[Reading]:
        if self._embedder is None:
            return []
        try:
            return scoring.read(memories, self._embedder)
        except IndexFailure as error:
            logger.warning("stored without vectors (%s); they are filled in later", error.code)
            return []


def check(db: sqlite3.Connection) -> list[str]:
    """What is wrong with a database file; empty where all is well."""
    problems = [str(row[0]) for row in db.execute("PRAGMA integrity_check(10)") if row[0] != "ok"]
    try:
        db.execute("INSERT INTO words (words) VALUES ('integrity-check')")
    except sqlite3.OperationalError:
        raise  # locked: no fault of the full-text index
    except sqlite3.DatabaseError as error:
        problems.append(f"full-text index: {error}")
    (missing,) = db.execute("SELECT count(*) FROM memories WHERE slot NOT IN (SELECT rowid FROM words)").fetchone()
    if missing:
        problems.append(f"{missing} memories are not in the full-text index")
    return problems
