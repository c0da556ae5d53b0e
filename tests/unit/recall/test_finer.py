"""A finer embedder reads the memories at hand in the background, and takes over once it has."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Literal

import numpy as np
import pytest

from haru.embed.static import StaticEmbedder
from haru.errors import IndexUnavailable
from haru.index.inprocess import InProcessIndex
from haru.memory import HOUSEHOLD, Memory
from haru.ports import ACTIVE, Filters, Hits, Reading, Vectors
from haru.recall.desk import RecallSettings
from haru.recall.session import RecallSession
from haru.recall.sessions import Sessions

WAITS_S = 5.0


class Knowing:
    """Knows that a quenta is a zorbel, as no word table does."""

    id = "knowing"
    dim = 2

    def __init__(self) -> None:
        self.fails = False
        self.read_texts: list[str] = []

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> Vectors:
        return np.stack([each.vector for each in self.read(texts, kind)])

    def read(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> list[Reading]:
        if self.fails:
            raise IndexUnavailable("the model is gone")
        if kind == "passage":
            self.read_texts += texts
        return [self._read(text) for text in texts]

    def _read(self, text: str) -> Reading:
        known = any(word in text for word in ("quenta", "zorbel"))
        vector = np.array([1.0, 0.0] if known else [0.0, 1.0], np.float32)
        return Reading(vector, vector[np.newaxis])


class Deaf(InProcessIndex):
    """Lists its memories and answers no search."""

    async def search(
        self, query: str, *, size: int = 10, filters: Filters = ACTIVE, customer_id: str = HOUSEHOLD
    ) -> Hits:
        raise IndexUnavailable("not today")


@pytest.fixture
def knowing() -> Knowing:
    return Knowing()


@pytest.fixture
async def index(memory: Callable[..., Memory]) -> AsyncIterator[Deaf]:
    """Two memories."""
    deaf = Deaf()
    await deaf.put([memory("There is a zorbel in the attic."), memory("The user's dog is called Biscuit.")])
    yield deaf
    await deaf.aclose()


@pytest.fixture
async def sessions(index: Deaf, knowing: Knowing) -> AsyncIterator[Sessions]:
    """With a finer embedder, and listings that are never fresh."""
    opened = Sessions(index, StaticEmbedder(), RecallSettings(refresh_s=0.0), finer=knowing)
    yield opened
    await opened.aclose()


async def found(session: RecallSession, text: str) -> list[str]:
    return [memory.text for memory in (await session.recall(text)).memories]


async def until(done: Callable[[], bool]) -> None:
    """Wait for what happens in the background."""
    async with asyncio.timeout(WAITS_S):
        while not done():
            await asyncio.sleep(0.01)
    await asyncio.sleep(0.05)


async def test_it_takes_over_what_is_at_hand(sessions: Sessions, knowing: Knowing) -> None:
    """The memories are ranked by what it knows."""
    session = sessions.open()
    session.start()
    await until(lambda: len(knowing.read_texts) == 2)
    assert await found(session, "where is my quenta") == ["There is a zorbel in the attic."]


async def test_where_it_fails_what_was_at_hand_stays(sessions: Sessions, knowing: Knowing) -> None:
    """The word table's reading, with meaning, and the receipt says what failed."""
    knowing.fails = True
    session = sessions.open()
    session.start()
    await asyncio.sleep(0.2)
    recollection = await session.recall("what is my puppy called")
    assert [memory.text for memory in recollection.memories] == ["The user's dog is called Biscuit."]
    assert (recollection.receipt.preload, recollection.receipt.preload_problem) == ("failed", "index-unavailable")


async def test_where_it_fails_later_the_memories_are_fresh_all_the_same(
    index: Deaf, sessions: Sessions, knowing: Knowing
) -> None:
    """What another process forgot is gone from the session, though it can be read no more."""
    session = sessions.open()
    session.start()
    await until(lambda: len(knowing.read_texts) == 2)
    [zorbel] = [each for each in (await index.page()).memories if "zorbel" in each.text]
    await index.erase([zorbel.id])
    knowing.fails = True
    sessions.forget([])  # what it read before is kept no more
    await session.recall("what's up with the dog")
    await asyncio.sleep(0.3)
    assert await found(session, "where is the zorbel") == []
    assert await found(session, "what is my puppy called") == ["The user's dog is called Biscuit."]


async def test_a_memory_is_read_once_a_process(sessions: Sessions, knowing: Knowing) -> None:
    """Not once a conversation, for it takes a model seconds; forgetting forgets what was read too."""
    for _ in range(2):
        session = sessions.open()
        session.start()
        await until(lambda: len(knowing.read_texts) >= 2)
    assert len(knowing.read_texts) == 2
    sessions.forget(["of no memory"])
    session = sessions.open()
    session.start()
    await until(lambda: len(knowing.read_texts) == 4)
