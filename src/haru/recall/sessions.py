"""Sessions: opens recall sessions over one index, and watches whether the index answers."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor

from haru.memory import HOUSEHOLD
from haru.ports import Embedder, MemoryIndex
from haru.recall.breaker import Breaker
from haru.recall.catalogue import Catalogue
from haru.recall.desk import Desk, RecallSettings
from haru.recall.search import ask
from haru.recall.session import RecallSession

logger = logging.getLogger(__name__)


class Sessions:
    """All recall sessions of a process. Owns the breaker, its probe, and the threads that analyse words."""

    def __init__(
        self,
        index: MemoryIndex,
        embedder: Embedder | None = None,
        settings: RecallSettings | None = None,
        *,
        finer: Embedder | None = None,
    ) -> None:
        self.settings = settings or RecallSettings()
        self.breaker = Breaker()
        self._threads = ThreadPoolExecutor(2, "haru-recall")
        self._desk = Desk(
            index=index,
            catalogue=Catalogue(embedder),
            finer=Catalogue(finer) if finer else None,
            words_alone=Catalogue(None),
            settings=self.settings,
            breaker=self.breaker,
            threads=self._threads,
            tripped=self._tripped,
        )
        self._open: set[RecallSession] = set()
        self._probe: asyncio.Task[None] | None = None

    def open(self, *, customer_id: str = HOUSEHOLD) -> RecallSession:
        """A new session, with nothing of any other in it. Close it with `close`."""
        session = RecallSession(self._desk, customer_id=customer_id)
        self._open.add(session)
        return session

    async def close(self, session: RecallSession) -> None:
        """End a session and everything it has under way."""
        self._open.discard(session)
        await session.aclose()

    def forget(self, ids: list[str]) -> None:
        """Memories were forgotten: no running session brings them up again."""
        for catalogue in (self._desk.catalogue, self._desk.finer, self._desk.words_alone):
            if catalogue:
                catalogue.forget()
        for session in self._open:
            session.forget(ids)

    async def aclose(self) -> None:
        """End all sessions, the probe and the threads."""
        for session in list(self._open):
            await self.close(session)
        if self._probe:
            self._probe.cancel()
            await asyncio.gather(self._probe, return_exceptions=True)
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _tripped(self) -> None:
        if not self.breaker.closed and (self._probe is None or self._probe.done()):
            logger.warning("the index does not answer; recall goes on from memories at hand until it does")
            self._probe = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        """Ask the index now and then, until it answers within the budget."""
        loop = asyncio.get_running_loop()
        while not self.breaker.closed:
            await asyncio.sleep(max((self.breaker.probe_at or loop.time()) - loop.time(), 0.0))
            self.breaker.probing()
            try:
                await ask(
                    self._desk.index, "haru", size=1, customer_id=HOUSEHOLD, limit_s=max(self.settings.budget_s, 0.05)
                )
            except Exception:  # noqa: BLE001 - whatever an adapter raises, the watch goes on: only it ends an outage
                self.breaker.failed(loop.time())
            else:
                self.breaker.succeeded()
                logger.warning("the index answers again")
