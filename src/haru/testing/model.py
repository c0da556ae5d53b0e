"""ScriptedModel: a language model whose replies are given."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

from haru.ports import Completion, Message

Reply = str | Completion | Exception
"""Text, a whole completion (to be cut off, say), or a failure to raise."""


class ScriptedModel:
    """Says what it was given: one reply a call, the last one again and again; or what a function makes of the call."""

    id = "scripted"

    def __init__(
        self, replies: Sequence[Reply] | Callable[[Sequence[Message]], Reply], *, delay_s: float = 0.0
    ) -> None:
        self._replies = replies
        self._delay_s = delay_s
        self.calls: list[list[Message]] = []
        """What each call sent."""
        self.schemas: list[Mapping[str, object] | None] = []
        """The schema of each call to `complete`."""

    async def stream(
        self, messages: Sequence[Message], *, max_tokens: int = 512, timeout_s: float = 60.0
    ) -> AsyncGenerator[str]:
        """See `haru.ports.ChatModel.stream`: a word at a time, ``delay_s`` before each."""
        del max_tokens, timeout_s
        for piece in re.findall(r"\S+\s*", self._next(messages).text):
            await asyncio.sleep(self._delay_s)
            yield piece

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, object] | None = None,
        max_tokens: int = 2048,
        timeout_s: float = 120.0,
    ) -> Completion:
        """See `haru.ports.ChatModel.complete`."""
        del max_tokens, timeout_s
        self.schemas.append(schema)
        await asyncio.sleep(self._delay_s)
        return self._next(messages)

    async def aclose(self) -> None:
        """Nothing to let go of."""

    def _next(self, messages: Sequence[Message]) -> Completion:
        self.calls.append(list(messages))
        if callable(self._replies):
            reply = self._replies(messages)
        else:
            reply = self._replies[min(len(self.calls), len(self._replies)) - 1]
        if isinstance(reply, Exception):
            raise reply
        return reply if isinstance(reply, Completion) else Completion(text=reply)
