"""FaultyIndex: an index that misbehaves on command."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from typing import Literal, get_args

from haru.errors import IndexBusy, IndexUnavailable
from haru.memory import HOUSEHOLD, Feedback, Memory
from haru.ports import ACTIVE, Filters, Hit, Hits, MemoryIndex, Page

Fault = Literal[
    "fast", "slow", "hung", "dripping", "resetting", "busy", "failing", "dead", "cold", "blocking", "flaky", "foreign",
    "wrong",
]  # fmt: skip
FAULTS: tuple[Fault, ...] = get_args(Fault)
"""
``fast``: no fault. ``slow``: answers after ``delay_s``. ``hung``: never. ``dripping``: a sign of life now and then,
never an answer. ``resetting``: breaks off after a moment. ``busy``: asks to wait. ``failing``: a server's error.
``dead``: refused at once. ``cold``: nothing until ``delay_s`` after the first call, then fast. ``blocking``: holds a
thread for ``delay_s``. ``flaky``: one of two calls hangs. ``foreign``: an exception that no index may raise.
``wrong``: hits twice over, and more than asked for.
"""


class FaultyIndex:
    """Passes every call on to another index, after the trouble that is set.

    Args:
        inner: the index that answers.
        fault: which trouble; may be changed at any time.
        delay_s: how long, where the trouble takes time.
        seed: for the troubles that come by chance.
        listing: whether `page` is troubled too.
    """

    def __init__(
        self,
        inner: MemoryIndex,
        fault: Fault = "fast",
        *,
        delay_s: float = 3.0,
        seed: int = 0,
        listing: bool = True,
    ) -> None:
        self._inner = inner
        self.fault: Fault = fault
        self.delay_s = delay_s
        self.calls = 0
        self.open_calls = 0
        self._chance = random.Random(seed)
        self._listing = listing
        self._woken_at: float | None = None

    async def search(
        self, query: str, *, size: int = 10, filters: Filters = ACTIVE, customer_id: str = HOUSEHOLD
    ) -> Hits:
        """See `haru.ports.MemoryIndex.search`."""
        await self._trouble()
        found = await self._inner.search(query, size=size, filters=filters, customer_id=customer_id)
        if self.fault == "wrong":
            doubled = [Hit(memory=each.memory, score=each.score, position=99) for each in found.hits]
            return found.model_copy(update={"hits": (*found.hits, *doubled * size)})
        return found

    async def page(self, *, cursor: str | None = None, limit: int = 1000, filters: Filters = ACTIVE) -> Page:
        """See `haru.ports.MemoryIndex.page`."""
        if self._listing:
            await self._trouble()
        return await self._inner.page(cursor=cursor, limit=limit, filters=filters)

    async def get(self, ids: Sequence[str]) -> list[Memory]:
        """See `haru.ports.MemoryIndex.get`."""
        await self._trouble()
        return await self._inner.get(ids)

    async def put(self, memories: Sequence[Memory]) -> None:
        """See `haru.ports.MemoryIndex.put`."""
        await self._trouble()
        await self._inner.put(memories)

    async def erase(self, ids: Sequence[str]) -> None:
        """See `haru.ports.MemoryIndex.erase`."""
        await self._trouble()
        await self._inner.erase(ids)

    async def feedback(self, event: Feedback) -> None:
        """See `haru.ports.MemoryIndex.feedback`."""
        await self._trouble()
        await self._inner.feedback(event)

    async def warm(self) -> None:
        """See `haru.ports.MemoryIndex.warm`."""
        await self._trouble()
        await self._inner.warm()

    async def aclose(self) -> None:
        """See `haru.ports.MemoryIndex.aclose`; never troubled, so that a test can always end."""
        await self._inner.aclose()

    async def _trouble(self) -> None:
        self.calls += 1
        self.open_calls += 1
        try:
            await self._misbehave()
        finally:
            self.open_calls -= 1

    async def _misbehave(self) -> None:
        match self.fault:
            case "slow":
                await asyncio.sleep(self.delay_s)
            case "hung":
                await asyncio.Event().wait()
            case "dripping":
                while True:
                    await asyncio.sleep(0.01)
            case "resetting":
                await asyncio.sleep(0.02)
                raise IndexUnavailable("the connection was reset")
            case "busy":
                raise IndexBusy("slow down", retry_after_s=2.0)
            case "failing":
                await asyncio.sleep(0.005)
                raise IndexUnavailable("the server failed (HTTP 500)")
            case "dead":
                raise IndexUnavailable("connection refused")
            case "cold":
                now = time.monotonic()
                self._woken_at = self._woken_at or now  # it warms up whether or not the first call is given up on
                await asyncio.sleep(max(self._woken_at + self.delay_s - now, 0.0))
            case "blocking":
                await asyncio.to_thread(time.sleep, self.delay_s)
            case "flaky":
                if self._chance.random() < 0.5:
                    await asyncio.Event().wait()
            case "foreign":
                raise IndexError("an adapter's own mistake")
            case "fast" | "wrong":
                pass
