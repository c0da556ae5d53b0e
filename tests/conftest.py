"""What every test may use: a data folder, a loop that must not be blocked, and memories quickly made."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime

import pytest

from haru.memory import Memory, derived_id
from haru.testing.postgres import server

NOON = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
def memory() -> Callable[..., Memory]:
    """Makes a memory from its sentence; anything else may be given by name."""

    def make(text: str, **fields: object) -> Memory:
        defaults = {"id": derived_id("mem", text), "text": text, "created_at": NOON, "updated_at": NOON}
        return Memory.model_validate({**defaults, **fields})

    return make


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a real server, as its superuser; `haru.testing.postgres.database` makes a database in it."""
    with server(tmp_path_factory.mktemp("postgres")) as address:
        yield address


@pytest.fixture
async def ticker() -> AsyncIterator[Callable[[], float]]:
    """The longest time, in seconds, that the event loop has stood still since the test began."""
    worst = 0.0

    async def tick() -> None:
        nonlocal worst
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.01)
            worst = max(worst, time.perf_counter() - before - 0.01)

    task = asyncio.create_task(tick())
    yield lambda: worst
    task.cancel()


@pytest.fixture(autouse=True)
async def nothing_left_over() -> AsyncIterator[None]:
    """Every task has an owner that ends it: none outlives its test."""
    before = asyncio.all_tasks()
    yield
    await asyncio.sleep(0)
    left = [task for task in asyncio.all_tasks() - before if not task.done() and task is not asyncio.current_task()]
    assert not left, f"tasks left over: {left}"
