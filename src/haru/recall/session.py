"""RecallSession: memory for one conversation, ready before the last word and never late.

Work starts when speech starts (`start`), goes on while the person speaks (`hear`), and ends at a deadline
(`recall`). A search that misses its deadline goes on and serves the turns after it, in this session only.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TypeVar

from haru import scoring, words
from haru.errors import IndexFailure
from haru.memory import HOUSEHOLD
from haru.ports import Hits, Vectors
from haru.recall import merge
from haru.recall.cache import Cache, shelve
from haru.recall.desk import Desk, Recollection
from haru.recall.merge import Found
from haru.recall.preload import fetch
from haru.recall.search import Search, ask
from haru.receipt import PreloadState, Receipt

logger = logging.getLogger(__name__)

T = TypeVar("T")

RESERVE_S = 0.05
"""Left of the budget when the local ranking is got ready, in case the search does not answer at all."""
MOST_UNDER_WAY = 8
"""Searches of one session that may be unanswered at a time; more would only pile up on a store that hangs."""


class RecallSession:
    """One conversation's memory. Not for several turns at once; every task it begins ends with it."""

    def __init__(self, desk: Desk, *, customer_id: str = HOUSEHOLD) -> None:
        self._desk = desk
        self._customer_id = customer_id
        self._cache = Cache(shelve((), desk.embedder))
        self._turn = 0
        self._searches: list[Search] = []
        self._preload: asyncio.Task[None] | None = None
        self._preloaded_at = float("-inf")
        self._preload_problem = ""
        self._speculation: asyncio.TimerHandle | None = None
        self._speculated_at = float("-inf")
        self._tasks: set[asyncio.Task[object]] = set()
        self._closed = False

    def start(self) -> None:
        """Speech began: fetch the memories to keep at hand, in the background. May be called again and again."""
        if self._preload is None and not self._closed:
            self._preload = self._own(self._fetch())

    def hear(self, partial_text: str) -> None:
        """Words so far, while the person still speaks: search ahead, not too often. Never raises, never waits."""
        self.start()
        query = " ".join(words.content(partial_text))
        if self._speculation:
            self._speculation.cancel()
            self._speculation = None
        if not query or self._closed or self._has(query):
            return
        loop = asyncio.get_running_loop()
        due = self._speculated_at + self._desk.settings.debounce_s
        if loop.time() >= due:
            self._speculate(query)
        else:
            self._speculation = loop.call_at(due, self._speculate, query)

    async def recall(self, text: str) -> Recollection:
        """The memories for a turn, within the budget whatever the index does.

        Raises:
            asyncio.CancelledError: the turn was cancelled; searches under way go on.
        """
        loop = asyncio.get_running_loop()
        began = loop.time()
        deadline = began + self._desk.settings.budget_s
        self.start()
        if self._speculation:
            self._speculation.cancel()
            self._speculation = None
        query = " ".join(words.content(text))
        if not query:
            return self._recollection("", None, [], began, 0.0)
        search = self._searching(query)
        try:
            return await self._answer(query, search, began, deadline)
        except asyncio.CancelledError:
            self._turn += 1  # what this turn asked for is late from now on
            raise

    async def _answer(self, query: str, search: Search | None, began: float, deadline: float) -> Recollection:
        loop = asyncio.get_running_loop()
        waiting_since = loop.time()
        hits = await self._hits(search, deadline - RESERVE_S)
        vector: asyncio.Task[Vectors | None] | None = None
        if hits is None:
            vector = self._own(self._embedded([query], "query"))
            hits = await self._hits(search, deadline)
            if hits is None:
                await self._at_hand(vector, deadline)
        waited = loop.time() - waiting_since
        if hits is not None:
            source = "speculative" if search and search.speculative else "search"
            found = merge.merge(merge.from_hits(hits, source), (), self._desk.settings.size)
        else:
            vectors = self._result(vector)
            question = scoring.question(query, None if vectors is None else vectors[0])
            found = self._cache.rank(question, self._desk.settings.size)
        self._tell_breaker(search, answered=hits is not None)
        return self._recollection(query, search, found, began, waited)

    def forget(self, ids: list[str]) -> None:
        """Memories were forgotten or retired: they come up no more in this session."""
        self._cache.drop(ids)

    async def aclose(self) -> None:
        """The conversation is over: nothing of it reaches another one. Ends all its tasks."""
        self._closed = True
        if self._speculation:
            self._speculation.cancel()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._cache = Cache()

    # -- searching

    def _has(self, query: str) -> bool:
        wanted = set(query.split())
        return any(each.turn == self._turn and set(each.query.split()) == wanted for each in self._searches)

    def _speculate(self, query: str) -> None:
        begun = sum(each.turn == self._turn for each in self._searches)
        if begun < self._desk.settings.speculations and self._begin(query, speculative=True):
            self._speculated_at = asyncio.get_running_loop().time()

    def _searching(self, query: str) -> Search | None:
        """The search for a turn's final words: one begun on the same words while they were spoken, or a new one."""
        wanted = set(query.split())
        for each in self._searches:
            usable = each.hits is not None or not each.task.done()
            if each.turn == self._turn and usable and set(each.query.split()) == wanted:
                return each
        return self._begin(query, speculative=False)

    def _begin(self, query: str, *, speculative: bool) -> Search | None:
        under_way = sum(not each.task.done() for each in self._searches)
        if not self._desk.breaker.closed or under_way >= MOST_UNDER_WAY or self._closed:
            return None
        settings = self._desk.settings
        answer = ask(
            self._desk.index,
            query,
            size=settings.size,
            customer_id=self._customer_id,
            limit_s=settings.background_s,
        )
        search = Search(query, self._turn, speculative, self._own(answer))
        self._searches.append(search)
        search.task.add_done_callback(lambda _: self._answered(search))
        return search

    def _answered(self, search: Search) -> None:
        """A search ended: late hits, and those for words that were not the last ones, serve later turns."""
        if self._closed or search.task.cancelled():
            return
        if search.hits is None:
            logger.warning("search failed: %s", search.problem)
        elif search.turn < self._turn or search.speculative:
            self._own(self._bring(search.hits, late=search.turn < self._turn))

    async def _bring(self, hits: Hits, *, late: bool) -> None:
        memories = [hit.memory for hit in hits.hits]
        vectors = await self._embedded([scoring.passage(memory) for memory in memories], "passage")
        by_id = {} if vectors is None else {memory.id: vectors[row] for row, memory in enumerate(memories)}
        self._cache.bring(hits, "late" if late else "speculative", by_id)

    async def _hits(self, search: Search | None, deadline: float) -> Hits | None:
        if search is None:
            return None
        if not search.task.done():
            await self._until(deadline, search.task)
        return search.hits

    def _tell_breaker(self, search: Search | None, *, answered: bool) -> None:
        if search is None:
            return
        if answered:
            self._desk.breaker.succeeded()
        elif search.blames_the_store:
            self._desk.breaker.failed(asyncio.get_running_loop().time())
            self._desk.tripped()

    # -- the memories at hand

    async def _fetch(self) -> None:
        settings = self._desk.settings
        memories, self._preload_problem = await fetch(
            self._desk.index, limit=settings.preload, limit_s=settings.background_s
        )
        if self._preload_problem and not memories:
            return
        try:
            shelf = await self._aside(partial(shelve, memories, self._desk.embedder))
        except IndexFailure as error:  # no vectors: words alone still find a lot
            self._preload_problem = error.code
            shelf = await self._aside(partial(shelve, memories, None))
        self._cache.fill(shelf)
        self._preloaded_at = asyncio.get_running_loop().time()

    async def _at_hand(self, vector: asyncio.Task[Vectors | None], deadline: float) -> None:
        """Wait for what the local ranking needs: not for a preload while the store is known to be down."""
        waiting: list[asyncio.Task[object]] = [vector] if not vector.done() else []
        if self._preload and not self._preload.done() and self._desk.breaker.closed:
            waiting.append(self._preload)
        if waiting:
            await self._until(deadline, *waiting)

    def _refresh(self) -> None:
        """Fetch the memories at hand anew where they are old: somebody may have mended or forgotten one."""
        now = asyncio.get_running_loop().time()
        done = self._preload is None or self._preload.done()
        if done and now - self._preloaded_at > self._desk.settings.refresh_s and self._desk.breaker.closed:
            self._preload = self._own(self._fetch())

    @property
    def _preload_state(self) -> PreloadState:
        if self._preload is None:
            return "none"
        if not self._preload.done():
            return "loading"
        return "failed" if self._preload_problem else "ready"

    # -- the receipt

    def _recollection(
        self, query: str, search: Search | None, found: list[Found], began: float, waited_s: float
    ) -> Recollection:
        settings = self._desk.settings
        found = found[: settings.size]
        elapsed_s = asyncio.get_running_loop().time() - began
        receipt = Receipt(
            budget_ms=settings.budget_s * 1000,
            elapsed_ms=round(elapsed_s * 1000, 3),
            waited_ms=round(waited_s * 1000, 3),
            outcome=merge.outcome(found),
            query=query,
            ref=search.hits.ref if search and search.hits else None,
            recalled=tuple(each.recalled for each in found),
            searches=sum(each.turn == self._turn for each in self._searches),
            breaker=self._desk.breaker.state,
            preload=self._preload_state,
            cached=len(self._cache),
            problem=search.problem if search else "" if not query else "breaker-open",
            preload_problem=self._preload_problem,
        )
        self._turn += 1
        self._searches = [each for each in self._searches if not each.task.done()]
        self._refresh()
        return Recollection(tuple(each.memory for each in found), receipt)

    # -- tasks and threads

    async def _embedded(self, texts: list[str], kind: str) -> Vectors | None:
        embedder = self._desk.embedder
        if embedder is None or not texts:
            return None
        return await self._aside(lambda: embedder.embed(texts, "query" if kind == "query" else "passage"))

    async def _aside(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._desk.threads, work)

    async def _until(self, deadline: float, *tasks: asyncio.Task[object]) -> None:
        left_s = deadline - asyncio.get_running_loop().time()
        await asyncio.wait(tasks, timeout=max(left_s, 0.0))

    def _own(self, work: Coroutine[object, object, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[T]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        searched = any(each.task is task for each in self._searches)  # told by `_answered`
        if error and not searched and not isinstance(error, (IndexFailure, TimeoutError)):
            logger.error("recall: %s out of the index or the embedder; going on without", type(error).__name__)

    @staticmethod
    def _result(task: asyncio.Task[T] | None) -> T | None:
        if task and task.done() and not task.cancelled() and task.exception() is None:
            return task.result()
        return None
