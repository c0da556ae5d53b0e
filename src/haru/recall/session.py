"""RecallSession: memory for one conversation, ready before the last word and never late.

Work starts when speech starts (`start`), goes on while the person speaks (`hear`), and ends at a deadline
(`recall`). A search that misses its deadline goes on and serves the turns after it, in this session only.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TypeVar

from haru import scoring
from haru.memory import HOUSEHOLD
from haru.ports import Hits
from haru.recall import heard, merge
from haru.recall.cache import Cache, shelve
from haru.recall.desk import Desk, Recollection
from haru.recall.heard import Said
from haru.recall.merge import Found
from haru.recall.preload import Preload
from haru.recall.search import Asked, Brought, Search, ask
from haru.recall.speculation import Speculation
from haru.recall.tasks import Tasks, result
from haru.receipt import Receipt

logger = logging.getLogger(__name__)

T = TypeVar("T")

RANKING_S = 0.01
"""Left of the budget for the ranking of what is at hand: it is over when the deadline is."""
RESERVE_S = 0.05
"""Left of the budget when the local ranking is got ready, in case the search does not answer at all."""
REACH = 4
"""A search on partial text brings so many times the memories of a turn: they are ranked anew by the final words."""
MOST_UNDER_WAY = 8
"""Searches of one session that may be unanswered at a time; more would only pile up on a store that hangs."""


class RecallSession:
    """One conversation's memory. Not for several turns at once; every task it begins ends with it."""

    def __init__(self, desk: Desk, *, customer_id: str = HOUSEHOLD) -> None:
        self._desk = desk
        self._customer_id = customer_id
        self._cache = Cache(shelve((), desk.catalogue))
        self._turn = 0
        self._searches: list[Search] = []
        self._speculation = Speculation(desk.settings, lambda said: self._begin(said, speculative=True) is not None)
        self._tasks = Tasks()
        self._preload = Preload(desk, self._cache, self._tasks)
        self._heard_at = float("inf")
        """Loop time of the last sign of speech; the first one has the preload to open connections."""
        self._closed = False

    def start(self) -> None:
        """Speech began: fetch the memories to keep at hand, in the background. May be called again and again."""
        if self._closed:
            return
        self._preload.start()
        now = asyncio.get_running_loop().time()
        if now - self._heard_at > self._desk.settings.idle_s and self._desk.breaker.closed:
            self._tasks.begin(self._warmed())
        self._heard_at = now

    def hear(self, partial_text: str) -> None:
        """Words so far, while the person still speaks: search ahead, not too often. Never raises, never waits."""
        self.start()
        if not self._closed:
            self._speculation.hear(partial_text)

    async def recall(self, text: str) -> Recollection:
        """The memories for a turn, within the budget whatever the index does.

        Raises:
            asyncio.CancelledError: the turn was cancelled; searches under way go on.
        """
        loop = asyncio.get_running_loop()
        began = loop.time()
        deadline = began + self._desk.settings.budget_s - RANKING_S
        self.start()
        self._speculation.end()
        said = heard.said(text)
        if not said.terms:
            return self._recollection(Asked(began, said), [], waited_s=0.0)
        search = self._under_way(said)
        found = self._served(said, search)
        if found is not None:
            self._desk.breaker.succeeded()
            return self._recollection(Asked(began, said, search), found, waited_s=0.0)
        search = search or self._begin(said, speculative=False)
        asked = Asked(began, said, search, "" if search else self._refusal)
        try:
            return await self._answer(asked, deadline)
        except asyncio.CancelledError:
            self._turn += 1  # what this turn asked for is late from now on
            raise

    async def _answer(self, asked: Asked, deadline: float) -> Recollection:
        loop = asyncio.get_running_loop()
        waiting_since = loop.time()
        found = await self._until_served(asked, deadline - RESERVE_S)
        reading: asyncio.Task[Brought] | None = None
        if found is None:
            reading = self._tasks.begin(self._question_read(asked.said))
            found = await self._until_served(asked, deadline)
        if found is None:
            await self._at_hand(reading, deadline)
            found = self._served(asked.said, asked.search)
        waited_s = loop.time() - waiting_since
        self._tell_breaker(asked.search, answered=found is not None)
        problem = asked.problem if found is None else ""
        if found is None:
            found = self._ranked(asked.said, result(reading))
        return self._recollection(asked, found, waited_s=waited_s, problem=problem)

    def forget(self, ids: list[str]) -> None:
        """These memories come up no more in this session, also where an answer on its way still has them."""
        self._cache.forget(ids)

    async def aclose(self) -> None:
        """The conversation is over: nothing of it reaches another one. Ends all its tasks."""
        self._closed = True
        self._speculation.end()
        await self._tasks.aclose()
        self._cache.clear()

    # -- searching

    def _under_way(self, said: Said) -> Search | None:
        """A search on these very words, begun while they were spoken, that has answered or still may."""
        for each in self._ahead(said):
            if each.said.terms == said.terms and (each.hits is not None or not each.task.done()):
                return each
        return None

    def _ahead(self, said: Said) -> list[Search]:
        """Searches of this turn on some of its words, or all."""
        return [each for each in self._searches if each.turn == self._turn and each.said.terms <= said.terms]

    @property
    def _refusal(self) -> str:
        """Why no search is begun now; empty where one may be."""
        if self._closed:
            return "closed"
        if not self._desk.breaker.closed:
            return "breaker-open"
        under_way = sum(not each.task.done() for each in self._searches)
        return "too-many-under-way" if under_way >= MOST_UNDER_WAY else ""

    def _begin(self, said: Said, *, speculative: bool) -> Search | None:
        if self._refusal:
            return None
        settings = self._desk.settings
        answer = ask(
            self._desk.index,
            said.query,
            size=settings.size * REACH if speculative else settings.size,
            customer_id=self._customer_id,
            limit_s=settings.background_s,
        )
        task = self._tasks.begin(answer, then=lambda _: self._answered(search))
        search = Search(said, self._turn, speculative, task)
        self._searches.append(search)
        return search

    def _answered(self, search: Search) -> None:
        """A search ended: late hits, and those for words that were not the last ones, serve later turns."""
        if self._closed or search.task.cancelled():
            return
        if search.hits is None:
            logger.warning("search failed: %s", search.problem)
        elif search.turn < self._turn or search.speculative:
            search.bringing = self._tasks.begin(self._bring(search.said, search.hits))

    async def _warmed(self) -> None:
        async with asyncio.timeout(self._desk.settings.background_s):
            await self._desk.index.warm()

    async def _bring(self, said: Said, hits: Hits) -> Brought:
        """Have hits at hand that are not yet, and the words that found them read."""
        known = self._cache.shelf.memories
        fresh = hits.model_copy(
            update={"hits": tuple(hit for hit in hits.hits if known.get(hit.memory.id) != hit.memory)}
        )
        memories = [hit.memory for hit in fresh.hits]
        catalogue = self._cache.shelf.catalogue
        documents = await self._aside(lambda: catalogue.documents(memories)) if memories else []
        self._cache.bring(fresh, dict(documents), catalogue)
        return await self._question_read(said)

    # -- what serves a turn

    def _served(self, said: Said, search: Search | None) -> list[Found] | None:
        """What may be used now, without waiting any more: hits for these words, or for some of them if they will do.

        Args:
            said: the words of the turn.
            search: the one on all of them, if there is one.
        """
        if search and search.hits is not None:
            source = "speculative" if search.speculative else "search"
            fit = (each for each in merge.from_hits(search.hits, source) if each.memory.id not in self._cache.forgotten)
            return merge.merge(fit, (), self._desk.settings.size)
        brought = [(each, reading) for each in self._ahead(said) if (reading := each.brought)]
        if not brought:
            return None
        closest, reading = max(brought, key=lambda pair: len(pair[0].said.terms))
        found = self._ranked(said, reading)
        enough = found and heard.will_do(closest.said.terms, said.terms, found[0].memory)
        return found if enough else None

    async def _until_served(self, asked: Asked, deadline: float) -> list[Found] | None:
        """What serves the turn, as soon as anything does; ``None`` at the deadline, or when nothing is under way."""
        while (found := self._served(asked.said, asked.search)) is None:
            under_way = {task for each in self._ahead(asked.said) if (task := each.under_way)}
            if not under_way or asyncio.get_running_loop().time() >= deadline:
                return None
            await self._until(deadline, *under_way, when=asyncio.FIRST_COMPLETED)
        return found

    def _ranked(self, said: Said, reading: Brought | None) -> list[Found]:
        """The memories at hand, ranked by these words, and by how they read where the same embedder read both."""
        fits = reading and reading.readings and reading.reader is self._cache.shelf.catalogue.embedder
        question = scoring.question(said.query, reading.readings[0] if reading and fits else None)
        answers = (each.hits for each in self._ahead(said) if each.hits)
        return merge.credited(self._cache.rank(question, self._desk.settings.size), answers)

    def _tell_breaker(self, search: Search | None, *, answered: bool) -> None:
        if search is None:
            return
        if answered:
            self._desk.breaker.succeeded()
        elif search.blames_the_store:
            self._desk.breaker.failed(asyncio.get_running_loop().time())
            self._desk.tripped()

    # -- the memories at hand

    async def _at_hand(self, reading: asyncio.Task[Brought] | None, deadline: float) -> None:
        """Wait for what the local ranking needs: not for a preload while the store is known to be down."""
        waiting: list[asyncio.Task[object]] = [reading] if reading and not reading.done() else []
        if self._preload.under_way and self._desk.breaker.closed:
            waiting.append(self._preload.under_way)
        if waiting:
            await self._until(deadline, *waiting)

    # -- the receipt

    def _recollection(self, asked: Asked, found: list[Found], *, waited_s: float, problem: str = "") -> Recollection:
        settings, search = self._desk.settings, asked.search
        elapsed_s = asyncio.get_running_loop().time() - asked.began
        receipt = Receipt(
            budget_ms=settings.budget_s * 1000,
            elapsed_ms=round(elapsed_s * 1000, 3),
            waited_ms=round(waited_s * 1000, 3),
            outcome=merge.outcome(found),
            query=asked.said.query,
            ref=search.hits.ref if search and search.hits else None,
            recalled=tuple(each.recalled for each in found),
            searches=sum(each.turn == self._turn for each in self._searches),
            breaker=self._desk.breaker.state,
            preload=self._preload.state,
            cached=len(self._cache),
            problem=problem,
            preload_problem=self._preload.problem,
        )
        self._turn += 1
        self._searches = [each for each in self._searches if not each.task.done()]
        if not self._closed:
            self._preload.refresh()
        return Recollection(tuple(each.memory for each in found), receipt)

    # -- threads

    async def _question_read(self, said: Said) -> Brought:
        embedder = self._cache.shelf.catalogue.embedder
        if embedder is None:
            return Brought((), None)
        return Brought(await self._aside(lambda: embedder.read([scoring.wording(said.query)], "query")), embedder)

    async def _aside(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._desk.threads, work)

    async def _until(self, deadline: float, *tasks: asyncio.Task[object], when: str = asyncio.ALL_COMPLETED) -> None:
        left_s = deadline - asyncio.get_running_loop().time()
        await asyncio.wait(tasks, timeout=max(left_s, 0.0), return_when=when)
