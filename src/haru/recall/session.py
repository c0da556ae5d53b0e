"""RecallSession: memory for one conversation, ready before the last word and never late.

Work starts when speech starts (`start`), goes on while the person speaks (`hear`), and ends at a deadline
(`recall`). A search that misses its deadline goes on and serves the turns after it, in this session only.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Literal, TypeVar

from haru import scoring, words
from haru.memory import HOUSEHOLD
from haru.ports import Hits, Reading
from haru.recall import heard, merge
from haru.recall.cache import Cache, shelve
from haru.recall.desk import Desk, Recollection
from haru.recall.merge import Found
from haru.recall.preload import Preload
from haru.recall.search import Asked, Search, ask
from haru.recall.tasks import Tasks, result
from haru.receipt import Receipt, Source

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
        self._partial = ""
        self._searches: list[Search] = []
        self._speculation: asyncio.TimerHandle | None = None
        self._speculated_at = float("-inf")
        self._tasks = Tasks()
        self._preload = Preload(desk, self._cache, self._tasks)
        self._closed = False

    def start(self) -> None:
        """Speech began: fetch the memories to keep at hand, in the background. May be called again and again."""
        if not self._closed:
            self._preload.start()

    def hear(self, partial_text: str) -> None:
        """Words so far, while the person still speaks: search ahead, not too often. Never raises, never waits."""
        self.start()
        settled, self._partial = heard.settled(partial_text, self._partial), partial_text
        query, content = words.asked(settled), frozenset(words.content(settled))
        if self._speculation:
            self._speculation.cancel()
            self._speculation = None
        if not content or self._closed or self._has(content):
            return
        last = next((each.words for each in reversed(self._searches) if each.turn == self._turn), frozenset[str]())
        loop = asyncio.get_running_loop()
        due = self._speculated_at + self._desk.settings.debounce_s
        if settled != partial_text and not heard.worth_searching(content, last):
            due = loop.time() + heard.PAUSE_S
        if loop.time() >= due:
            self._speculate(query, content)
        else:
            self._speculation = loop.call_at(due, self._speculate, query, content)

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
        query, content = words.asked(text), frozenset(words.content(text))
        if not content:
            return self._recollection(Asked(began), [], waited_s=0.0)
        foreseen = self._foreseen(content)
        search = self._answering(content) or (None if foreseen else self._begin(query, content, speculative=False))
        asked = Asked(began, query, search, "" if search else self._refusal, foreseen)
        try:
            return await self._answer(asked, deadline)
        except asyncio.CancelledError:
            self._turn += 1  # what this turn asked for is late from now on
            raise

    async def _answer(self, asked: Asked, deadline: float) -> Recollection:
        search = asked.search
        loop = asyncio.get_running_loop()
        waiting_since = loop.time()
        hits = search.hits if search and asked.foreseen else await self._hits(search, deadline - RESERVE_S)
        reading: asyncio.Task[list[Reading]] | None = None
        reader = self._cache.shelf.embedder
        if asked.foreseen:  # read before the last word; the last one is compared by itself
            reading, reader = asked.foreseen.reading, asked.foreseen.reader
        if hits is None:
            reading = reading or self._tasks.begin(self._read([scoring.wording(asked.query)], "query"))
            if not asked.foreseen:
                hits = await self._hits(search, deadline)
            if hits is None:
                await self._at_hand(reading, deadline)
        waited = loop.time() - waiting_since
        if hits is not None:
            source = "speculative" if search and search.speculative else "search"
            found = merge.merge(self._fit(hits, source), (), self._desk.settings.size)
        else:
            readings = result(reading) if self._cache.shelf.embedder is reader else None
            question = scoring.question(asked.query, readings[0] if readings else None)
            found = self._cache.rank(question, self._desk.settings.size)
            if asked.foreseen and asked.foreseen.hits:
                found = merge.merge(found, self._fit(asked.foreseen.hits, "speculative"), self._desk.settings.size)
        self._tell_breaker(search, answered=hits is not None or asked.foreseen is not None)
        return self._recollection(asked, found, waited_s=waited)

    def forget(self, ids: list[str]) -> None:
        """These memories come up no more in this session, also where an answer on its way still has them."""
        self._cache.forget(ids)

    async def aclose(self) -> None:
        """The conversation is over: nothing of it reaches another one. Ends all its tasks."""
        self._closed = True
        if self._speculation:
            self._speculation.cancel()
        await self._tasks.aclose()
        self._cache.clear()

    # -- searching

    def _has(self, content: frozenset[str]) -> bool:
        return any(each.turn == self._turn and each.words == content for each in self._searches)

    def _foreseen(self, content: frozenset[str]) -> Search | None:
        """The last search that answered on enough of the words."""
        for each in reversed(self._searches):
            if each.turn == self._turn and each.hits is not None and heard.foreseen(content, each.words):
                return each
        return None

    def _speculate(self, query: str, content: frozenset[str]) -> None:
        begun = sum(each.turn == self._turn for each in self._searches)
        if begun < self._desk.settings.speculations and self._begin(query, content, speculative=True):
            self._speculated_at = asyncio.get_running_loop().time()

    def _answering(self, content: frozenset[str]) -> Search | None:
        """A search on these very words, begun while they were spoken, that has answered or still may."""
        for each in self._searches:
            if each.turn == self._turn and each.words == content and (each.hits is not None or not each.task.done()):
                return each
        return None

    @property
    def _refusal(self) -> str:
        """Why no search is begun now; empty where one may be."""
        if self._closed:
            return "closed"
        if not self._desk.breaker.closed:
            return "breaker-open"
        under_way = sum(not each.task.done() for each in self._searches)
        return "too-many-under-way" if under_way >= MOST_UNDER_WAY else ""

    def _begin(self, query: str, content: frozenset[str], *, speculative: bool) -> Search | None:
        if self._refusal:
            return None
        settings = self._desk.settings
        answer = ask(
            self._desk.index,
            query,
            size=settings.size,
            customer_id=self._customer_id,
            limit_s=settings.background_s,
        )
        task = self._tasks.begin(answer, then=lambda _: self._answered(search))
        search = Search(query, content, self._turn, speculative, task)
        if speculative:
            search.reader = self._cache.shelf.embedder
            search.reading = self._tasks.begin(self._read([scoring.wording(query)], "query"))
        self._searches.append(search)
        return search

    def _answered(self, search: Search) -> None:
        """A search ended: late hits, and those for words that were not the last ones, serve later turns."""
        if self._closed or search.task.cancelled():
            return
        if search.hits is None:
            logger.warning("search failed: %s", search.problem)
        elif search.turn < self._turn or search.speculative:
            self._tasks.begin(self._bring(search.hits, late=search.turn < self._turn))

    async def _bring(self, hits: Hits, *, late: bool) -> None:
        memories = [hit.memory for hit in hits.hits]
        embedder = self._cache.shelf.embedder
        readings = await self._read([scoring.passage(memory) for memory in memories], "passage")
        by_id = {memory.id: reading for memory, reading in zip(memories, readings, strict=False)}
        self._cache.bring(hits, "late" if late else "speculative", by_id, embedder)

    def _fit(self, hits: Hits, source: Source) -> list[Found]:
        """What a search found, but for what was forgotten since."""
        return [each for each in merge.from_hits(hits, source) if each.memory.id not in self._cache.forgotten]

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

    async def _at_hand(self, reading: asyncio.Task[list[Reading]], deadline: float) -> None:
        """Wait for what the local ranking needs: not for a preload while the store is known to be down."""
        waiting: list[asyncio.Task[object]] = [reading] if not reading.done() else []
        if self._preload.under_way and self._desk.breaker.closed:
            waiting.append(self._preload.under_way)
        if waiting:
            await self._until(deadline, *waiting)

    # -- the receipt

    def _recollection(self, asked: Asked, found: list[Found], *, waited_s: float) -> Recollection:
        settings, search = self._desk.settings, asked.search
        elapsed_s = asyncio.get_running_loop().time() - asked.began
        receipt = Receipt(
            budget_ms=settings.budget_s * 1000,
            elapsed_ms=round(elapsed_s * 1000, 3),
            waited_ms=round(waited_s * 1000, 3),
            outcome=merge.outcome(found),
            query=asked.query,
            ref=search.hits.ref if search and search.hits else None,
            recalled=tuple(each.recalled for each in found),
            searches=sum(each.turn == self._turn for each in self._searches),
            breaker=self._desk.breaker.state,
            preload=self._preload.state,
            cached=len(self._cache),
            problem=asked.problem,
            preload_problem=self._preload.problem,
        )
        self._turn += 1
        self._partial = ""
        self._searches = [each for each in self._searches if not each.task.done()]
        if not self._closed:
            self._preload.refresh()
        return Recollection(tuple(each.memory for each in found), receipt)

    # -- threads

    async def _read(self, texts: list[str], kind: Literal["query", "passage"]) -> list[Reading]:
        embedder = self._cache.shelf.embedder
        if embedder is None or not texts:
            return []
        return await self._aside(lambda: embedder.read(texts, kind))

    async def _aside(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._desk.threads, work)

    async def _until(self, deadline: float, *tasks: asyncio.Task[object]) -> None:
        left_s = deadline - asyncio.get_running_loop().time()
        await asyncio.wait(tasks, timeout=max(left_s, 0.0))
