"""Conversation: the turns that one person and Haru exchange at one door.

Words come in, the reply streams out, and every turn goes to the chat log with its receipt: also one that was
interrupted, and one whose model failed. Nothing here waits for memory longer than its budget.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from dataclasses import dataclass
from datetime import datetime

from haru.chatlog import ChatLog, Finding, SessionEnd, SessionStart, Turn, new_session_id
from haru.errors import LogUnwritable
from haru.memory import HOUSEHOLD
from haru.ports import ChatModel, Message
from haru.recall import prompt
from haru.recall.session import RecallSession
from haru.recall.sessions import Sessions

logger = logging.getLogger(__name__)

SYSTEM = (
    "You are Haru, a voice assistant at home. Answer in one to three short spoken sentences, in the language of the "
    "person, with no lists and no markup. If you don't know something, say so."
)

_MAX_FINDING_CHARS = 4_000


@dataclass(frozen=True, slots=True)
class ConversationSettings:
    """How a conversation goes."""

    system: str = SYSTEM
    header: str = prompt.HEADER
    place: prompt.Place = "beside-user"
    idle_s: float = 900.0
    """Silence after which the next words begin a new session, with nothing of the old one."""
    history_turns: int = 12
    """Earlier turns that the model reads."""
    max_reply_tokens: int = 300
    model_timeout_s: float = 60.0
    door: str = "chat"
    person: str = HOUSEHOLD


class Conversation:
    """One person talking with Haru. One turn at a time."""

    def __init__(
        self,
        sessions: Sessions,
        model: ChatModel,
        log: ChatLog,
        settings: ConversationSettings | None = None,
        *,
        now: Callable[[], datetime] = lambda: datetime.now().astimezone(),
    ) -> None:
        self.settings = settings or ConversationSettings()
        self.session = ""
        """Id of the session under way; empty between two."""
        self.last: Turn | None = None
        """The newest turn, with its receipt."""
        self.recalled: tuple[str, ...] = ()
        """Texts of the memories that the newest turn recalled, for a door that shows them."""
        self._sessions = sessions
        self._model = model
        self._log = log
        self._now = now
        self._recall: RecallSession | None = None
        self._history: deque[Message] = deque(maxlen=2 * self.settings.history_turns)
        self._active_at = now()
        self._writing: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Speech began: have memories at hand before the last word."""
        (await self._session()).start()

    async def hear(self, partial_text: str) -> None:
        """Words so far, while the person still speaks."""
        (await self._session()).hear(partial_text)

    async def reply(
        self, said: str, *, person: str | None = None, findings: Sequence[Finding] = ()
    ) -> AsyncGenerator[str]:
        """The reply, piece by piece. Close the generator when the person interrupts: what was given is logged.

        Args:
            said: the person's words as heard.
            person: who spoke, where that is known.
            findings: what tools looked up for these words; the model reads it as data.

        Raises:
            haru.errors.ModelFailure: no reply, or only a part of it; the turn is logged all the same.
        """
        session = await self._session()
        at = self._now()
        recollection = await session.recall(said)
        self.recalled = tuple(memory.text for memory in recollection.memories)
        memory_block = prompt.block(recollection.memories, self.settings.header)
        looked_up = (f"(Looked up, as data: {prompt.one_line(each.text)[:_MAX_FINDING_CHARS]})" for each in findings)
        asked = "\n\n".join([said, *looked_up])
        messages = prompt.messages(self.settings.system, list(self._history), asked, memory_block, self.settings.place)
        pieces: list[str] = []
        whole = False
        try:
            async for piece in self._model.stream(
                messages, max_tokens=self.settings.max_reply_tokens, timeout_s=self.settings.model_timeout_s
            ):
                pieces.append(piece)
                yield piece
            whole = True
        finally:
            reply = "".join(pieces)
            self._active_at = self._now()
            self.last = Turn(
                session=self.session,
                at=at,
                said=said,
                reply=reply,
                spoken=None if whole else reply,
                interrupted=not whole,
                person=person or self.settings.person,
                door=self.settings.door,
                findings=tuple(findings),
                receipt=recollection.receipt,
            )
            if reply:
                self._history.extend([Message(role="user", content=said), Message(role="assistant", content=reply)])
            self._own(self._write(self.last))

    @property
    def log_problem(self) -> str:
        """Why turns can't be logged now; empty while they can."""
        return self._log.problem

    async def reset(self, reason: str = "reset") -> None:
        """End the session: the next words begin a new one."""
        if not self.session:
            return
        recall, self._recall = self._recall, None
        ended, self.session = self.session, ""
        self._history.clear()
        if recall:
            await self._sessions.close(recall)
        await self._write(SessionEnd(session=ended, at=self._now(), reason=reason))

    async def aclose(self) -> None:
        """End the session, and wait until every turn is written."""
        await asyncio.gather(*self._writing)
        await self.reset("closed")

    async def _session(self) -> RecallSession:
        now = self._now()
        # A clock that jumps back must not end a session, nor keep one for ever: only a forward gap counts.
        if self.session and (now - self._active_at).total_seconds() > self.settings.idle_s:
            await self.reset("idle")
        self._active_at = now
        if self._recall is None:
            self.session = new_session_id()
            self._recall = self._sessions.open(customer_id=self.settings.person)
            start = SessionStart(session=self.session, at=now, person=self.settings.person, door=self.settings.door)
            self._own(self._write(start))
        return self._recall

    async def _write(self, record: SessionStart | SessionEnd | Turn) -> None:
        try:
            await self._log.append(record)
        except LogUnwritable:
            logger.debug("a %s waits in memory until the chat log can be written", record.kind)

    def _own(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(work)
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)
