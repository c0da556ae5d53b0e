"""PostgresIndex: the memories of one household in a database of many."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import numpy as np
import psycopg
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from haru import scoring
from haru.corpus import Background, corpus_for, sounding, told
from haru.coverage import stored
from haru.errors import IndexFailure, IndexUnavailable
from haru.memory import HOUSEHOLD, Feedback, Memory, SearchRef
from haru.order import cursor_at, place, place_of, touched_ms
from haru.ports import ACTIVE, Embedder, Filters, Hit, Hits, Page, Reading
from haru.postgres import statements
from haru.postgres.schema import bring_up
from haru.scoring import Document

_SIGNS = (sounding(""), scoring.ABOUT, scoring.LEARNED)
"""Before what is no term, as `haru.corpus.told` writes it."""
_CONNECTIONS = 8
_WAITS_S = 10.0

Row = tuple[Any, ...]


class PostgresIndex:
    """Start it before use, or let the first call do so.

    Args:
        address: connection string, as libpq takes it.
        embedder: reads memories and questions; without one, words alone are compared.
        household: whose memories these are.
        record: what is kept; `haru.carried.Carried` for documents of other programs.
        pool: connections shared with other households, opened and closed by who made it.
    """

    def __init__(
        self,
        address: str,
        embedder: Embedder | None = None,
        *,
        household: str = HOUSEHOLD,
        record: type[Memory] = Memory,
        pool: AsyncConnectionPool[Any] | None = None,
    ) -> None:
        self._address = address
        self._embedder = embedder
        self._household = household
        self._record = record
        self._shared = pool is not None
        self._pool = pool
        self._starting = asyncio.Lock()
        self._up = False
        self._closed = False

    async def start(self) -> None:
        """Connect, and make the tables where they are lacking.

        Raises:
            IndexFailure: the database cannot be used.
        """
        async with self._starting, _translated():
            if self._up:
                return
            if self._closed:
                raise IndexUnavailable("the index is closed")
            if self._pool is None:
                self._pool = connections(self._address)
                await self._pool.open()
            async with self._pool.connection(_WAITS_S) as connection:
                await bring_up(connection)
            self._up = True

    async def search(
        self, query: str, *, size: int = 10, filters: Filters = ACTIVE, customer_id: str = HOUSEHOLD
    ) -> Hits:
        """See `haru.ports.MemoryIndex.search`. One statement brings the candidates, and the one scorer ranks them."""
        ref = SearchRef(query_id=f"q-{secrets.token_hex(8)}", session_id=customer_id)
        question = await asyncio.to_thread(self._question, query, filters)
        if not question.terms:
            return Hits(ref=ref)
        sql, values = statements.candidates(
            question, filters, self._embedder.id if self._embedder else "", self._household
        )
        rows = await self._rows(sql, values)
        found = await asyncio.to_thread(self._ranked, question, rows, size)
        hits = [Hit(memory=memory, score=score, position=n) for n, (memory, score) in enumerate(found)]
        return Hits(hits=tuple(hits), ref=ref)

    async def page(self, *, cursor: str | None = None, limit: int = 1000, filters: Filters = ACTIVE) -> Page:
        """See `haru.ports.MemoryIndex.page`."""
        after = None if cursor is None else place_of(cursor)
        sql, values = statements.page(filters, after, limit + 1, self._household)
        memories = [self._memory(row) for row in await self._rows(sql, values)]
        shown = memories[:limit]
        return Page(memories=tuple(shown), cursor=cursor_at(place(shown[-1])) if len(memories) > limit else None)

    async def get(self, ids: Sequence[str]) -> list[Memory]:
        """See `haru.ports.MemoryIndex.get`."""
        if not ids:
            return []
        rows = await self._rows(statements.GET, {"household": self._household, "ids": list(ids)})
        found = {memory.id: memory for memory in map(self._memory, rows)}
        return [found[key] for key in ids if key in found]

    async def put(self, memories: Sequence[Memory]) -> None:
        """See `haru.ports.MemoryIndex.put`."""
        if not memories:
            return
        newest = list({memory.id: memory for memory in memories}.values())
        rows = await asyncio.to_thread(self._written, newest)
        uses = [self._use(memory) for memory in newest]

        async def write(cursor: psycopg.AsyncCursor[Any]) -> None:
            await cursor.executemany(statements.PUT.encode(), rows)
            await cursor.executemany(statements.PUT_USE, uses)

        await self._write(write)

    async def erase(self, ids: Sequence[str]) -> None:
        """See `haru.ports.MemoryIndex.erase`. The space is overwritten when the database vacuums the table."""
        values = {"household": self._household, "ids": list(ids)}

        async def write(cursor: psycopg.AsyncCursor[Any]) -> None:
            for statement in statements.ERASE:
                await cursor.execute(statement, values)

        await self._write(write)

    async def feedback(self, event: Feedback) -> None:
        """See `haru.ports.MemoryIndex.feedback`."""
        values = [self._household, event.id, event.memory_id, event.ref.query_id, event.position, event.at]
        await self._write(lambda cursor: cursor.execute(statements.FEEDBACK, values))

    async def replace_all(self, memories: Sequence[Memory]) -> None:
        """Hold these memories and no others, in one transaction."""
        rows = await asyncio.to_thread(self._written, memories)
        uses = [self._use(memory) for memory in memories]
        kept = {"household": self._household, "ids": [memory.id for memory in memories]}

        async def write(cursor: psycopg.AsyncCursor[Any]) -> None:
            for statement in statements.ERASE_OTHERS:
                await cursor.execute(statement, kept)
            if memories:
                await cursor.executemany(statements.PUT.encode(), rows)
                await cursor.executemany(statements.PUT_USE, uses)

        await self._write(write)

    async def stats(self) -> dict[str, object]:
        """Counts for a person."""
        household = {"household": self._household}
        status = await self._rows(statements.BY_STATUS, household)
        kind = await self._rows(statements.BY_KIND, household)
        return {
            "status": dict(cast("list[tuple[str, int]]", status)),
            "kind": dict(cast("list[tuple[str, int]]", kind)),
            "embedder": self._embedder.id if self._embedder else "",
        }

    async def ready(self) -> None:
        """Have it started."""
        await self._opened()

    async def warm(self) -> None:
        """Have a connection open and the embedder loaded."""
        await self.search("dog")

    async def aclose(self) -> None:
        """See `haru.ports.MemoryIndex.aclose`."""
        if self._closed:
            return
        self._closed = True
        if self._pool and not self._shared:
            await self._pool.close()

    # -- rows

    def _question(self, query: str, filters: Filters) -> scoring.Question:
        spoken = scoring.wording(query)
        reading: Reading | None = None
        if spoken and self._embedder:
            try:
                reading = self._embedder.read([spoken], "query")[0]
            except IndexFailure:  # an embedding service is down: words alone still find a lot
                reading = None
        return scoring.question(query, reading, filters.person)

    def _ranked(self, question: scoring.Question, rows: Sequence[Row], size: int) -> list[tuple[Memory, float]]:
        if not rows:
            return []
        memories = {row[0]: row for row in rows}
        documents = [(row[0], _document(row)) for row in rows]
        count, length, holding = rows[0][10:13]
        background = Background(count, cast("Mapping[str, int]", holding or {}), float(length or 1.0))
        ranked = corpus_for(self._embedder, documents, background).rank(question, size=size, now_s=time.time())
        return [(self._memory(memories[each.key][1:4]), each.score) for each in ranked]

    def _memory(self, row: Row) -> Memory:
        body, use_count, last_used_at = row[:3]
        memory = self._record.model_validate_json(body)
        if not use_count and last_used_at is None:
            return memory
        return memory.model_copy(update={"use_count": use_count or 0, "last_used_at": last_used_at})

    def _written(self, memories: Sequence[Memory]) -> list[Row]:
        try:
            readings = scoring.read(memories, self._embedder) if self._embedder else []
        except IndexFailure:  # stored as words; found by meaning once it is written again
            readings = []
        return [self._row(memory, readings[n] if readings else None) for n, memory in enumerate(memories)]

    def _row(self, memory: Memory, reading: Reading | None) -> Row:
        document = scoring.document(memory, reading)
        body = memory.model_copy(update={"use_count": 0, "last_used_at": None}).model_dump_json()
        known = reading is not None and reading.vector.any()
        return (
            self._household, memory.id, body.replace("\\u0000", "\\ufffd"), memory.status, memory.person, memory.kind,
            memory.importance, len(document.terms), told(document),
            self._embedder.id if self._embedder and reading else "",
            statements.halfvec(reading.vector.tolist()) if reading and known else None,
            reading.vector.tobytes() if reading else b"", stored(reading.tokens) if reading else b"",
        )  # fmt: skip

    def _use(self, memory: Memory) -> Row:
        return (self._household, memory.id, memory.use_count, memory.last_used_at, touched_ms(memory))

    # -- connections

    async def _opened(self) -> AsyncConnectionPool[Any]:
        if not self._up or self._closed:
            await self.start()
        assert self._pool
        return self._pool

    async def _rows(self, sql: str, values: Mapping[str, object]) -> list[Row]:
        pool = await self._opened()
        async with _translated(), pool.connection(_WAITS_S) as connection:
            async with connection.pipeline(), connection.transaction():  # one round trip
                await connection.execute(statements.AS_HOUSEHOLD, [self._household])
                cursor = await connection.execute(sql.encode(), values)
            return cast("list[Row]", await cursor.fetchall())

    async def _write(self, work: Callable[[psycopg.AsyncCursor[Any]], Any]) -> None:
        pool = await self._opened()
        async with (
            _translated(),
            pool.connection(_WAITS_S) as connection,
            connection.transaction(),
            connection.cursor() as cursor,
        ):
            await cursor.execute(statements.AS_HOUSEHOLD, [self._household])
            await work(cursor)


def connections(address: str, most: int = _CONNECTIONS) -> AsyncConnectionPool[Any]:
    """A pool, to be opened. Plans are kept generic and not compiled: planning would cost as much as the search."""
    options = "-c plan_cache_mode=force_generic_plan -c jit=off"
    return AsyncConnectionPool(
        address, kwargs={"options": options, "prepare_threshold": 2}, min_size=1, max_size=most, open=False,
        timeout=_WAITS_S,
    )  # fmt: skip


@asynccontextmanager
async def _translated() -> AsyncGenerator[None]:
    """The driver's errors as Haru's, without the values of the statement."""
    try:
        yield
    except PoolTimeout:
        raise IndexUnavailable("the database does not answer. It is tried again later") from None
    except psycopg.Error as error:
        code = error.sqlstate or type(error).__name__
        raise IndexUnavailable(f"the database refused or broke off ({code}). It is tried again later") from None
    except OSError as error:
        raise IndexUnavailable(f"the database cannot be reached: {error.strerror}") from None


def _document(row: Row) -> Document:
    _, _, use_count, _, found_by, person, importance, touched, vector, tokens = row[:10]
    return Document(
        terms=tuple(term for term in found_by if term[0] not in _SIGNS),
        sounds=tuple(term[1:] for term in found_by if term[0] == _SIGNS[0]),
        marks=tuple(term for term in found_by if term[0] in _SIGNS[1:]),
        vector=np.frombuffer(vector, np.float32) if vector else None,
        tokens=tokens or None,
        person=person,
        importance=importance,
        use_count=use_count,
        touched_s=touched / 1000,
    )
