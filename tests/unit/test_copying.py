"""Memories from one back end to another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from haru.copying import AT_A_TIME, contents, copy
from haru.errors import IndexUnavailable
from haru.index.inprocess import InProcessIndex
from haru.index.relevan import RelevanIndex
from haru.index.sqlite import SqliteIndex
from haru.memory import Memory, Status
from haru.testing.index_server import KEY, served

Make = Callable[..., Memory]


def household(memory: Make, count: int) -> list[Memory]:
    """Retired ones among them."""
    status = {0: Status.RETIRED}
    return [memory(f"The user has thing {n}.", status=status.get(n % 7, Status.ACTIVE)) for n in range(count)]


class Counting(InProcessIndex):
    """Fails at the third write, and counts what was written."""

    def __init__(self) -> None:
        super().__init__()
        self.puts: list[int] = []
        self.fails_at = 0

    async def put(self, memories: Sequence[Memory]) -> None:
        self.puts.append(len(memories))
        if len(self.puts) == self.fails_at:
            raise IndexUnavailable("not now")
        await super().put(memories)


async def test_there_and_back_is_the_same(tmp_path: Path, memory: Make) -> None:
    """Through a file, a server and another file; count and checksum tell."""
    made = household(memory, 40)
    one, other = SqliteIndex(tmp_path / "one.db"), SqliteIndex(tmp_path / "other.db")
    await one.put(made)
    async with served(tmp_path / "served") as url:
        server = RelevanIndex(url, KEY)
        seen: list[int] = []
        there = await copy(one, server, seen.append)
        back = await copy(server, other)
        await server.aclose()
    assert (there.same, back.same, there.written, back.written) == (True, True, 40, 40)
    assert there.target == await contents(other)
    assert seen[-1] == 40
    for each in (one, other):
        await each.aclose()


async def test_taken_up_again_only_the_rest_is_written(memory: Make) -> None:
    """What arrived before the failure is not sent twice."""
    source, target = InProcessIndex(), Counting()
    await source.put(household(memory, 3 * AT_A_TIME))
    target.fails_at = 3
    with pytest.raises(IndexUnavailable):
        await copy(source, target)
    done = await copy(source, target)
    assert (done.written, done.same) == (AT_A_TIME, True)


async def test_what_stands_only_at_the_target_is_left_unless_asked(memory: Make) -> None:
    """Then the two differ, and it is said."""
    source, target = InProcessIndex(), InProcessIndex()
    await source.put(household(memory, 5))
    await target.put([memory("The user's cat is called Mochi.")])
    left = await copy(source, target)
    assert (left.same, left.removed, left.target.count) == (False, 0, 6)
    removed = await copy(source, target, remove=True)
    assert (removed.same, removed.removed, removed.target.count) == (True, 1, 5)


async def test_a_changed_memory_is_another_checksum(memory: Make) -> None:
    """However small the change; the order of the listing is none."""
    one, other = InProcessIndex(), InProcessIndex()
    made = household(memory, 9)
    await one.put(made)
    await other.put(made[::-1])
    assert await contents(one) == await contents(other)
    await other.put([made[0].changed(use_count=1)])
    assert await contents(one) != await contents(other)
