"""The tables, and how older ones are brought up to date. Needs PostgreSQL 14 or later with pgvector 0.7 or later.

Household stands first in every key, so that rows can be spread by it (hash partitions, Citus) and no statement changes.
Row-level security is a second lock: a transaction sees the household that it has named, and no other.
"""

from __future__ import annotations

from typing import Any

from psycopg import AsyncConnection

from haru.errors import IndexRefused

_LOCK = 0x68617275
"""Of those who make or bring up the tables at once, one goes first."""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE EXTENSION IF NOT EXISTS vector",
        """
        CREATE TABLE haru_memory (
            household text NOT NULL,
            id text NOT NULL COLLATE "C",
            body text NOT NULL,                 -- the whole record as JSON, but for what haru_use holds
            status text NOT NULL,
            person text NOT NULL,
            kind text NOT NULL,
            importance smallint NOT NULL,
            length integer NOT NULL,            -- number of terms
            terms text[] NOT NULL,              -- analysed, sounds and marks among them, each with its sign
            embedder text NOT NULL,
            near halfvec,                       -- for the nearest; exact, no index: a household is a few thousand rows
            vector bytea NOT NULL,              -- the same in full, for the scorer
            tokens bytea NOT NULL,              -- vectors of the parts, one byte a number
            PRIMARY KEY (household, id)
        )
        """,
        "ALTER TABLE haru_memory ALTER COLUMN near SET STORAGE PLAIN",
        """
        CREATE TABLE haru_use (                 -- apart, for a use must not rewrite text and vectors
            household text NOT NULL,
            id text NOT NULL COLLATE "C",
            use_count integer NOT NULL,
            last_used_at timestamptz,
            touched_ms bigint NOT NULL,         -- last used or changed
            PRIMARY KEY (household, id)
        )
        """,
        """
        CREATE TABLE haru_feedback (
            household text NOT NULL,
            id text NOT NULL,
            memory_id text NOT NULL,
            query_id text NOT NULL,
            position integer NOT NULL,
            at timestamptz NOT NULL,
            PRIMARY KEY (household, id)
        )
        """,
        *(
            statement.format(table=table)
            for table in ("haru_memory", "haru_use", "haru_feedback")
            for statement in (
                "ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
                "ALTER TABLE {table} FORCE ROW LEVEL SECURITY",
                "CREATE POLICY own ON {table} USING (household = current_setting('haru.household', true))",
            )
        ),
    ),
)
"""Statements of each version; a new version is added at the end, and none is ever changed."""


async def bring_up(connection: AsyncConnection[Any]) -> None:
    """Make the tables, or bring them up to date; in one transaction.

    Raises:
        IndexRefused: they were made by a newer Haru.
        psycopg.Error: the database refuses.
    """
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        await connection.execute("CREATE TABLE IF NOT EXISTS haru_schema (version integer NOT NULL)")
        row = await (await connection.execute("SELECT max(version) FROM haru_schema")).fetchone()
        version = int(row[0] or 0) if row else 0
        if version > len(MIGRATIONS):
            raise IndexRefused(f"the database was made by a newer Haru (schema {version}). Update Haru")
        for statements in MIGRATIONS[version:]:
            for statement in statements:
                await connection.execute(statement.encode())
        if version < len(MIGRATIONS):
            await connection.execute("INSERT INTO haru_schema VALUES (%s)", [len(MIGRATIONS)])
