"""InProcessIndex: a dict and a corpus. The reference that the contract reads like, and the index of tests."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import Callable, Sequence

from haru import scoring
from haru.carried import meets
from haru.corpus import Corpus, corpus_for
from haru.errors import IndexFailure
from haru.memory import HOUSEHOLD, Feedback, Memory, SearchRef, Status
from haru.order import cursor_at, place, place_of
from haru.ports import ACTIVE, Embedder, Filters, Hit, Hits, Page, Reading
from haru.yielding import yielding

_AT_A_TIME = 50


class InProcessIndex:
    """All memories in this process, gone with it."""

    def __init__(self, embedder: Embedder | None = None, *, now_s: Callable[[], float] = time.time) -> None:
        self._embedder = embedder
        self._now_s = now_s
        self._one_at_a_time = asyncio.Lock()
        """Of many searches that are ready at once each has its own turn of the loop, and others come between."""
        self._memories: dict[str, Memory] = {}
        self._documents: dict[str, scoring.Document] = {}
        self._active: Corpus[str] = self._corpus({})
        self.events: dict[str, Feedback] = {}
        """Feedback by its id."""

    async def search(
        self, query: str, *, size: int = 10, filters: Filters = ACTIVE, customer_id: str = HOUSEHOLD
    ) -> Hits:
        """See `haru.ports.MemoryIndex.search`."""
        ref = SearchRef(query_id=f"q-{secrets.token_hex(8)}", session_id=customer_id)
        spoken = scoring.wording(query)
        readings = await self._read(lambda embedder: embedder.read([spoken], "query")) if spoken else []
        asked = scoring.question(query, readings[0] if readings else None, filters.person)
        async with self._one_at_a_time:
            corpus = self._active
            if filters.status is not Status.ACTIVE or filters.clauses:
                corpus = self._corpus({key: self._documents[key] for key in self._kept(filters)})
            ranked = corpus.rank(asked, size=size, now_s=self._now_s())
            hits = [
                Hit(memory=self._memories[each.key], score=each.score, position=position)
                for position, each in enumerate(ranked)
            ]
        return Hits(hits=tuple(hits), ref=ref)

    async def page(self, *, cursor: str | None = None, limit: int = 1000, filters: Filters = ACTIVE) -> Page:
        """See `haru.ports.MemoryIndex.page`."""
        listed = sorted((memory for memory in self._memories.values() if meets(memory, filters)), key=place)
        if cursor is not None:
            last = place_of(cursor)
            listed = [memory for memory in listed if place(memory) > last]
        page = listed[:limit]
        return Page(memories=tuple(page), cursor=cursor_at(place(page[-1])) if len(listed) > limit else None)

    async def get(self, ids: Sequence[str]) -> list[Memory]:
        """See `haru.ports.MemoryIndex.get`."""
        return [self._memories[key] for key in ids if key in self._memories]

    async def put(self, memories: Sequence[Memory]) -> None:
        """See `haru.ports.MemoryIndex.put`."""
        readings = await self._read(lambda embedder: scoring.read(memories, embedder))
        documents = await asyncio.to_thread(
            lambda: [
                scoring.document(memory, readings[row] if readings else None)
                for row, memory in enumerate(yielding(memories))
            ]
        )
        for number, (memory, document) in enumerate(zip(memories, documents, strict=True), 1):
            self._memories[memory.id] = memory
            self._documents[memory.id] = document
            if memory.status is Status.ACTIVE:
                self._active.put(memory.id, document)
            else:
                self._active.drop(memory.id)
            if number % _AT_A_TIME == 0:
                await asyncio.sleep(0)  # a thousand at once would stop the loop
        if self._active.worn:
            self._active = self._corpus({key: self._documents[key] for key in self._kept(ACTIVE)})

    async def erase(self, ids: Sequence[str]) -> None:
        """See `haru.ports.MemoryIndex.erase`."""
        for key in ids:
            self._memories.pop(key, None)
            self._documents.pop(key, None)
            self._active.drop(key)

    async def feedback(self, event: Feedback) -> None:
        """See `haru.ports.MemoryIndex.feedback`."""
        self.events.setdefault(event.id, event)

    async def replace_all(self, memories: Sequence[Memory]) -> None:
        """Hold these memories and no others."""
        await self.erase(list(self._memories))
        await self.put(memories)

    async def stats(self) -> dict[str, object]:
        """Counts for a person: memories by status and kind, feedback."""
        memories = self._memories.values()
        return {
            "status": dict(Counter(str(memory.status) for memory in memories)),
            "kind": dict(Counter(str(memory.kind) for memory in memories if memory.status is Status.ACTIVE)),
            "feedback": len(self.events),
            "embedder": self._embedder.id if self._embedder else "",
        }

    async def start(self) -> None:
        """Nothing to open."""

    async def ready(self) -> None:
        """Always ready."""

    async def warm(self) -> None:
        """See `haru.ports.MemoryIndex.warm`."""
        await self._read(lambda embedder: embedder.read(["dog"], "query"))

    async def aclose(self) -> None:
        """See `haru.ports.MemoryIndex.aclose`."""

    def _kept(self, filters: Filters) -> list[str]:
        return [key for key, memory in self._memories.items() if meets(memory, filters)]

    def _corpus(self, documents: dict[str, scoring.Document]) -> Corpus[str]:
        return corpus_for(self._embedder, documents.items())

    async def _read(self, work: Callable[[Embedder], list[Reading]]) -> list[Reading]:
        embedder = self._embedder
        if embedder is None:
            return []
        try:
            return await asyncio.to_thread(work, embedder)
        except IndexFailure:  # an embedding service is down: words alone still find a lot
            return []
