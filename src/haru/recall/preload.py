"""Preload: list the memories that a session keeps at hand, the most important first."""

from __future__ import annotations

import asyncio
import logging

from haru.memory import Memory
from haru.ports import MemoryIndex

logger = logging.getLogger(__name__)


async def fetch(index: MemoryIndex, *, limit: int, limit_s: float) -> tuple[list[Memory], str]:
    """At most ``limit`` active memories, and why there are not more where the index failed: ``late``, or a code.

    What came before a failure is of use, so it is returned and not lost with it.
    """
    memories: list[Memory] = []
    try:
        async with asyncio.timeout(limit_s):
            cursor: str | None = None
            while len(memories) < limit:
                page = await index.page(cursor=cursor, limit=limit - len(memories))
                memories.extend(page.memories)
                cursor = page.cursor
                if cursor is None or not page.memories:
                    break
    except Exception as error:  # noqa: BLE001 - an adapter may raise anything; a turn must not hear of it
        problem = "late" if isinstance(error, TimeoutError) else getattr(error, "code", type(error).__name__)
        logger.warning("preload failed (%s) with %d memories at hand", problem, len(memories))
        return memories[:limit], problem
    return memories[:limit], ""
