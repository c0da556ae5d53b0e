"""The tables of the embedded index, and connections to them. SQLite in WAL mode; no loadable extension."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from haru.errors import IndexRefused, IndexUnavailable

SCHEMA_VERSION = 2
APPLICATION_ID = int.from_bytes(b"Haru")
"""Tells the index from other SQLite files; `PRAGMA application_id`."""
_WAL_RETRY_S = 0.01

_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE memories (
    slot INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    seq INTEGER NOT NULL,              -- goes up with every change, so that a reader finds what is new
    body TEXT NOT NULL,                -- the whole Memory as JSON
    status TEXT NOT NULL,
    person TEXT NOT NULL,
    kind TEXT NOT NULL,
    use_count INTEGER NOT NULL,
    importance_neg INTEGER NOT NULL,   -- negated: an index then reads in the order of a listing
    touched_neg INTEGER NOT NULL,      -- milliseconds
    length INTEGER NOT NULL,           -- number of terms
    terms TEXT NOT NULL,               -- analysed words, so that the arrays build without analysing again
    sounds TEXT NOT NULL,
    marks TEXT NOT NULL
);
CREATE INDEX memories_seq ON memories (seq);
CREATE INDEX memories_order ON memories (importance_neg, touched_neg, id);
CREATE INDEX memories_length ON memories (status, length);
CREATE TABLE erased (seq INTEGER PRIMARY KEY, slot INTEGER NOT NULL);
CREATE TABLE feedback (
    id TEXT PRIMARY KEY, memory_id TEXT NOT NULL, query_id TEXT NOT NULL, position INTEGER NOT NULL, at TEXT NOT NULL
) WITHOUT ROWID;
"""

_REMADE = {
    "words": """
CREATE VIRTUAL TABLE words USING fts5(
    terms, sounds, tokenize = "unicode61 remove_diacritics 0 categories 'L* N* Co M*'"  -- vowels may be marks
)
""",
    "vocabulary": "CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, 'col')",
    "vectors": """
CREATE TABLE vectors (
    slot INTEGER NOT NULL, embedder TEXT NOT NULL, vector BLOB NOT NULL,
    tokens BLOB NOT NULL,              -- vectors of the parts, one byte a number
    PRIMARY KEY (slot, embedder)
)
""",
}
"""Tables that hold nothing but what the memories tell, by name."""


def connect(path: Path, busy_timeout_s: float) -> sqlite3.Connection:
    """A connection for one thread at a time, the tables made where there are none.

    Raises:
        IndexRefused: no database, a damaged one, one of another program, or one of a newer Haru.
        IndexUnavailable: locked, or the disk refuses.
    """
    with translated(path):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _create(path)
        db = sqlite3.connect(path, timeout=busy_timeout_s, isolation_level=None, check_same_thread=False)
        try:
            version = _recognised(db, path)
            _into_wal(db, busy_timeout_s)
            db.execute("PRAGMA synchronous = NORMAL")  # the journal is the truth: a lost last commit is repaired
            db.execute("PRAGMA secure_delete = ON")
            db.execute("PRAGMA mmap_size = 268435456")
            if version == 0:
                _make(db)
            elif version < SCHEMA_VERSION:
                _bring_up(db)
        except BaseException:
            db.close()
            raise
        return db


def _create(path: Path) -> None:
    """Make the file, readable by its owner alone; SQLite gives its side files the same mode.

    One that is there is not opened: closing it would let go of every lock that this process has on it.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return


def _into_wal(db: sqlite3.Connection, limit_s: float) -> None:
    """Unlike other statements, this one does not wait: two processes that open a new file at once would collide."""
    gives_up_at = time.monotonic() + limit_s
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() >= gives_up_at:
                raise
            time.sleep(_WAL_RETRY_S)
        else:
            return


def _recognised(db: sqlite3.Connection, path: Path) -> int:
    """Version of a database of ours, 0 while it is empty. In one statement, for another process may be making it."""
    owner, version, tables = db.execute(
        "SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version), "
        "(SELECT count(*) FROM sqlite_master)"
    ).fetchone()
    if owner != APPLICATION_ID and (owner or version or tables):
        raise IndexRefused(
            f"{path} belongs to another program and is left as it is. Move it away, or set another `home`"
        )
    if version > SCHEMA_VERSION:
        raise IndexRefused(f"{path} was made by a newer Haru (schema {version}). Update Haru, or rebuild the index")
    return int(version) if tables else 0


def _make(db: sqlite3.Connection) -> None:
    with transaction(db):
        if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            return  # by another process, meanwhile
        for statement in (*_TABLES.split(";\n"), *_REMADE.values()):
            db.execute(statement)
        db.execute("INSERT INTO meta VALUES ('seq', '0')")
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def _bring_up(db: sqlite3.Connection) -> None:
    """From version 1, which knew no parts. What the memories tell is filled in anew by the next process that writes."""
    with transaction(db):
        if db.execute("PRAGMA user_version").fetchone()[0] == SCHEMA_VERSION:
            return  # by another process, meanwhile
        for name in reversed(_REMADE):
            db.execute(f"DROP TABLE {name}")
        for statement in _REMADE.values():
            db.execute(statement)
        db.execute("ALTER TABLE memories ADD COLUMN marks TEXT NOT NULL DEFAULT ''")
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


@contextmanager
def transaction(db: sqlite3.Connection) -> Generator[None]:
    """A write transaction, all or none."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # some failures have rolled back already
            db.execute("ROLLBACK")
        raise


@contextmanager
def translated(path: Path) -> Generator[None]:
    """SQLite's errors as Haru's, with what to do."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise IndexUnavailable(f"the index {path.name} cannot be used now: {error}. It is tried again later") from error
    except sqlite3.DatabaseError as error:
        raise IndexRefused(
            f"the index {path} is damaged: {error}. Move it away and make it again with `haru rebuild`"
        ) from error
    except ValidationError as error:
        problem = error.errors(include_input=False, include_url=False)[0]
        # without its cause, which quotes the memory
        raise IndexRefused(
            f"the index {path} holds a memory that cannot be read ({'.'.join(map(str, problem['loc']))}: "
            f"{problem['type']}). Make the index again with `haru rebuild`"
        ) from None
    except OSError as error:
        raise IndexUnavailable(f"the index {path} cannot be opened: {error.strerror}") from error


def next_seq(db: sqlite3.Connection) -> int:
    """The next number of a change; inside a transaction."""
    row = db.execute("UPDATE meta SET value = CAST(value AS INTEGER) + 1 WHERE key = 'seq' RETURNING value").fetchone()
    return int(row[0])
