"""Preload: the memories that a session keeps at hand, the most important first, fetched anew when they are old."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Sequence
from functools import partial

from haru.errors import IndexFailure
from haru.memory import Memory, Status
from haru.ports import MemoryIndex
from haru.recall.cache import Cache, shelve
from haru.recall.catalogue import Catalogue
from haru.recall.desk import Desk
from haru.recall.tasks import Tasks
from haru.receipt import PreloadState

logger = logging.getLogger(__name__)


class Preload:
    """Fills a session's cache, in the background."""

    def __init__(self, desk: Desk, cache: Cache, tasks: Tasks) -> None:
        self._desk = desk
        self._cache = cache
        self._tasks = tasks
        self._task: asyncio.Task[None] | None = None
        self._at = float("-inf")
        self._filled = False
        self.problem = ""
        """Why the last one failed: ``late``, or a code; empty where all went well."""

    @property
    def state(self) -> PreloadState:
        """How far it is."""
        if self._task is None:
            return "none"
        if self.under_way:
            return "loading"
        return "failed" if self.problem else "ready"

    @property
    def under_way(self) -> asyncio.Task[None] | None:
        """The fetching, while nothing of it is at hand yet."""
        return self._task if self._task and not self._task.done() and not self._filled else None

    def start(self) -> None:
        """Fetch, unless that was begun before."""
        if self._task is None:
            self._task = self._tasks.begin(self._fetch())

    def refresh(self) -> None:
        """Fetch anew what is old: somebody may have mended or forgotten a memory."""
        age_s = asyncio.get_running_loop().time() - self._at
        if (
            (self._task is None or self._task.done())
            and age_s > self._desk.settings.refresh_s
            and self._desk.breaker.closed
        ):
            self._task = self._tasks.begin(self._fetch())

    async def _fetch(self) -> None:
        settings = self._desk.settings
        brought = self._cache.brought
        memories, self.problem = await fetch(
            self._desk.index, limit=settings.preload, limit_s=settings.background_s, beside=brought
        )
        if self.problem and not memories:
            return
        gone = brought - {memory.id for memory in memories} if not self.problem else ()
        finer, light = self._desk.finer, (self._desk.catalogue, self._desk.words_alone)
        taken_over = finer is not None and self._cache.shelf.catalogue is finer
        if not taken_over:  # at once, for the first answer
            await self._fill(memories, gone, light)
            self._filled = True
        if finer:
            await self._fill(memories, gone, (finer, *light) if taken_over else (finer,))
        self._at = asyncio.get_running_loop().time()

    async def _fill(self, memories: list[Memory], gone: Collection[str], catalogues: Sequence[Catalogue]) -> None:
        """By the first of some catalogues that can; words alone still find a lot. Where none can, all stays."""
        loop = asyncio.get_running_loop()
        for catalogue in catalogues:
            try:
                shelf = await loop.run_in_executor(self._desk.threads, partial(shelve, memories, catalogue))
            except IndexFailure as error:
                self.problem = error.code
            else:
                self._cache.fill(shelf, gone=gone)
                return


async def fetch(
    index: MemoryIndex, *, limit: int, limit_s: float, beside: Collection[str] = ()
) -> tuple[list[Memory], str]:
    """Active memories, and why there are not more where the index failed: ``late``, or a code.

    What came before a failure is of use, so it is returned and not lost with it.

    Args:
        index: where to fetch from.
        limit: most memories to list.
        limit_s: total time.
        beside: ids of memories to fetch besides, where they are still active.
    """
    memories: dict[str, Memory] = {}
    try:
        async with asyncio.timeout(limit_s):
            cursor: str | None = None
            while len(memories) < limit:
                page = await index.page(cursor=cursor, limit=limit - len(memories))
                memories |= {memory.id: memory for memory in page.memories[: limit - len(memories)]}
                cursor = page.cursor
                if cursor is None or not page.memories:
                    break
            if further := [key for key in beside if key not in memories]:
                found = await index.get(further)
                memories |= {memory.id: memory for memory in found if memory.status is Status.ACTIVE}
    except Exception as error:  # noqa: BLE001 - an adapter may raise anything; a turn must not hear of it
        problem = "late" if isinstance(error, TimeoutError) else getattr(error, "code", type(error).__name__)
        logger.warning("preload failed (%s) with %d memories at hand", problem, len(memories))
        return list(memories.values()), problem
    return list(memories.values()), ""
