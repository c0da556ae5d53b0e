"""SqliteIndex: the embedded index. One file, read by one process while another writes; all work off the event loop."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from haru import scoring
from haru.errors import IndexFailure, IndexUnavailable
from haru.index.reader import Reader, marks, where
from haru.index.schema import connect, translated
from haru.index.store import Store, check
from haru.memory import HOUSEHOLD, Feedback, Memory, SearchRef
from haru.order import cursor_at, place, place_of
from haru.ports import ACTIVE, Embedder, Filters, Hit, Hits, Page, Reading

logger = logging.getLogger(__name__)

T = TypeVar("T")

_EMBED_AT_A_TIME = 64


class SqliteIndex:
    """All memories of a household in one SQLite file. Opens it at first use.

    Args:
        path: the file.
        embedder: reads memories and questions; without one, words alone are compared.
        busy_timeout_s: how long a write waits for another process's.
        maintain: fill in vectors that are lacking, in the background.
        record: what is kept; `haru.carried.Carried` for documents of other programs.
    """

    def __init__(
        self,
        path: Path,
        embedder: Embedder | None = None,
        *,
        busy_timeout_s: float = 5.0,
        maintain: bool = False,
        record: type[Memory] = Memory,
    ) -> None:
        self.path = path
        self._record = record
        self._embedder = embedder
        self._busy_timeout_s = busy_timeout_s
        self._maintain = maintain
        # One thread each: a search never waits for a write, nor for the arrays to be read.
        self._reading = ThreadPoolExecutor(1, "haru-index-read")
        self._writing = ThreadPoolExecutor(1, "haru-index-write")
        self._aside = ThreadPoolExecutor(1, "haru-index-build")
        self._reader: Reader | None = None
        self._store: Store | None = None
        self._upkeep: asyncio.Task[None] | None = None
        self._closed = False

    async def start(self) -> None:
        """Open the file, begin to read the arrays, and, with ``maintain``, fill in vectors that are lacking.

        Raises:
            IndexFailure: the file cannot be used.
        """
        await self._read(lambda reader: reader.build())
        if self._maintain and self._upkeep is None:
            self._upkeep = asyncio.create_task(self._keep_up())

    async def ready(self) -> None:
        """Wait until the arrays stand."""
        building: Future[Any] | None = await self._read(lambda reader: reader.build())
        if building:
            with translated(self.path):
                # shielded: who stops waiting must not stop the reading, on which searches wait too
                await asyncio.shield(asyncio.wrap_future(building))

    async def warm(self) -> None:
        """Have everything loaded that the first question needs, so that it is as fast as the next one.

        Raises:
            IndexFailure: the file or the embedder cannot be used.
        """
        await self.ready()
        await self._read(lambda _: self._question("dog", ACTIVE))

    async def search(
        self, query: str, *, size: int = 10, filters: Filters = ACTIVE, customer_id: str = HOUSEHOLD
    ) -> Hits:
        """See `haru.ports.MemoryIndex.search`."""
        found = await self._read(lambda reader: reader.search(self._question(query, filters), size, filters))
        hits = [Hit(memory=memory, score=score, position=n) for n, (memory, score) in enumerate(found)]
        return Hits(hits=tuple(hits), ref=SearchRef(query_id=f"q-{secrets.token_hex(8)}", session_id=customer_id))

    async def page(self, *, cursor: str | None = None, limit: int = 1000, filters: Filters = ACTIVE) -> Page:
        """See `haru.ports.MemoryIndex.page`."""
        condition, values = where(filters)
        wanted = [*values]
        if cursor is not None:
            condition += " AND (importance_neg, touched_neg, id) > (?, ?, ?)"
            wanted.extend(place_of(cursor))
        sql = f"SELECT id, body FROM memories WHERE {condition} ORDER BY importance_neg, touched_neg, id LIMIT ?"
        found = await self._read(lambda reader: reader.memories(sql, [*wanted, limit + 1]))
        memories = tuple(memory for _, memory in found[:limit])
        return Page(memories=memories, cursor=cursor_at(place(memories[-1])) if len(found) > limit else None)

    async def get(self, ids: Sequence[str]) -> list[Memory]:
        """See `haru.ports.MemoryIndex.get`."""
        sql = f"SELECT id, body FROM memories WHERE id IN ({marks(ids)})"
        found = dict(await self._read(lambda reader: reader.memories(sql, ids)))
        return [found[key] for key in ids if key in found]

    async def put(self, memories: Sequence[Memory]) -> None:
        """See `haru.ports.MemoryIndex.put`."""
        await self._write(lambda store: store.put(memories))

    async def erase(self, ids: Sequence[str]) -> None:
        """See `haru.ports.MemoryIndex.erase`."""
        await self._write(lambda store: store.erase(ids))

    async def feedback(self, event: Feedback) -> None:
        """See `haru.ports.MemoryIndex.feedback`."""
        await self._write(lambda store: store.feedback(event))

    async def replace_all(self, memories: Sequence[Memory]) -> None:
        """Hold these memories and no others, in one transaction."""
        await self._write(lambda store: store.put(memories, alone=True))

    async def stats(self) -> dict[str, object]:
        """Counts for a person: memories by status and kind, feedback, vectors still lacking, bytes."""

        def count(reader: Reader) -> dict[str, object]:
            done, total = self._progress(reader)
            return {
                "status": dict(reader.rows("SELECT status, count(*) FROM memories GROUP BY 1")),
                "kind": dict(reader.rows("SELECT kind, count(*) FROM memories WHERE status = 'active' GROUP BY 1")),
                "feedback": reader.one("SELECT count(*) FROM feedback")[0],
                "embedder": self._embedder.id if self._embedder else "",
                "vectors": done,
                "vectors_lacking": total - done,
                "bytes": self.path.stat().st_size,
            }

        return await self._read(count)

    async def progress(self) -> tuple[int, int]:
        """How many memories have a vector of this embedder, and how many there are."""
        return await self._read(self._progress)

    async def embed_missing(self, told: Callable[[int, int], None] | None = None) -> None:
        """Fill in vectors that are lacking, in short transactions; then drop those of earlier embedders.

        Raises:
            IndexFailure: the embedder or the file failed; what was done stays done.
        """
        embedder = self._embedder
        if embedder is None:
            return
        while rows := await self._write(lambda store: store.lacking(_EMBED_AT_A_TIME)):
            memories = [memory for _, _, memory in rows]
            readings = await self._in(self._aside, lambda memories=memories: scoring.read(memories, embedder))
            await self._write(lambda store, rows=rows, readings=readings: store.add_readings(rows, readings))
            if told:
                told(*await self.progress())
        await self._write(Store.drop_other_vectors)

    async def check(self) -> list[str]:
        """What is wrong with the file, for `haru doctor`; empty where all is well."""

        def look() -> list[str]:
            db = connect(self.path, self._busy_timeout_s)
            try:
                return check(db)
            finally:
                db.close()

        problems = await self._in(self._aside, look)
        done, total = await self.progress()
        if done < total:
            problems.append(
                f"{total - done} of {total} memories have no vector of {self._embedder and self._embedder.id}"
            )
        return problems

    async def aclose(self) -> None:
        """See `haru.ports.MemoryIndex.aclose`."""
        if self._closed:
            return
        self._closed = True
        if self._upkeep:
            self._upkeep.cancel()
            await asyncio.gather(self._upkeep, return_exceptions=True)
        loop = asyncio.get_running_loop()
        if self._reader:
            await loop.run_in_executor(self._reading, self._reader.close)
        if self._store:
            await loop.run_in_executor(self._writing, self._store.close)
        for threads in (self._reading, self._writing, self._aside):
            await asyncio.to_thread(threads.shutdown, cancel_futures=True)

    async def _keep_up(self) -> None:
        try:
            await self.embed_missing()
        except IndexFailure as error:
            logger.warning("filling in vectors stopped (%s); it goes on at the next start", error.code)

    def _question(self, query: str, filters: Filters) -> scoring.Question:
        asked = scoring.wording(query)
        reading: Reading | None = None
        if asked and self._embedder:
            try:
                reading = self._embedder.read([asked], "query")[0]
            except IndexFailure as error:  # an embedding service is down: words alone still find a lot
                logger.warning("searching without vectors (%s)", error.code)
        return scoring.question(query, reading, filters.person)

    def _progress(self, reader: Reader) -> tuple[int, int]:
        (total,) = reader.one("SELECT count(*) FROM memories")
        if self._embedder is None:
            return total, total
        (done,) = reader.one("SELECT count(*) FROM vectors WHERE embedder = ?", self._embedder.id)
        return done, total

    async def _read(self, work: Callable[[Reader], T]) -> T:
        def run() -> T:
            if self._reader is None:
                self._reader = Reader(self.path, self._embedder, self._busy_timeout_s, self._aside, self._record)
            return work(self._reader)

        return await self._in(self._reading, run)

    async def _write(self, work: Callable[[Store], T]) -> T:
        def run() -> T:
            if self._store is None:
                self._store = Store(self.path, self._embedder, self._busy_timeout_s, self._record)
            return work(self._store)

        return await self._in(self._writing, run)

    async def _in(self, threads: ThreadPoolExecutor, work: Callable[[], T]) -> T:
        def run() -> T:
            with translated(self.path):
                return work()

        if self._closed:
            raise IndexUnavailable(f"the index {self.path.name} is closed")
        return await asyncio.get_running_loop().run_in_executor(threads, run)
