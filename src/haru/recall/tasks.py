"""Tasks: the work that one session has under way beside its turns. Each ends with the session."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import TypeVar

from haru.errors import IndexFailure

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Tasks:
    """Owns what it begins: the event loop holds tasks weakly, and one that nobody holds vanishes while it waits."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[object]] = set()

    def begin(
        self, work: Coroutine[object, object, T], then: Callable[[asyncio.Task[T]], None] | None = None
    ) -> asyncio.Task[T]:
        """Run work in the background.

        Args:
            work: what to do.
            then: told when it ended, however it did; without it, a failure nobody expects is logged by its type.
        """
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(then or _log_failure)
        return task

    async def aclose(self) -> None:
        """End everything and wait until it has ended."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def result(task: asyncio.Task[T] | None) -> T | None:
    """What a task brought; ``None`` where there is none, where it still runs and where it failed."""
    if task and task.done() and not task.cancelled() and task.exception() is None:
        return task.result()
    return None


def _log_failure(task: asyncio.Task[T]) -> None:
    error = None if task.cancelled() else task.exception()
    if error and not isinstance(error, (IndexFailure, TimeoutError)):
        logger.error("recall: %s out of the index or the embedder; going on without", type(error).__name__)
