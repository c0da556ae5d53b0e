"""ModelServer: an OpenAI-compatible server on loopback that answers, or misbehaves, as it is told. Real sockets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Literal, cast

from haru.testing.listening import Asked, Listening, drip, head

Behaviour = Literal[
    "normal", "refuses-schema", "unauthorized", "no-model", "busy", "overflow", "failing", "hanging", "dripping",
    "resetting", "html", "empty", "no-choices", "cut-off",
]  # fmt: skip
"""
``normal`` answers. ``refuses-schema`` knows no ``json_schema``. ``resetting`` breaks a stream off in the middle.
``dripping`` sends a byte now and then and never an answer. ``cut-off`` ends at the token limit.
"""

_OVERFLOWS = {
    "openai": "This model's maximum context length is 4096 tokens. However, your messages resulted in 6031 tokens.",
    "llama.cpp": "request (6031 tokens) exceeds the available context size (4096 tokens), try increasing it",
    "vllm": "The decoder prompt (length 6031) is longer than the maximum model length of 4096: maximum context length",
    "ollama": "input exceeds maximum context length",
}


class ModelServer(Listening):
    """Use it as an async context manager; `url` is its base address.

    Args:
        reply: what it says.
        behaviour: how it behaves; may be changed while it runs.
        retry_after: value of the header, where it is busy.
        overflow: whose words it uses, where the prompt is too long.
    """

    def __init__(
        self,
        reply: str = "Biscuit, of course.",
        behaviour: Behaviour = "normal",
        *,
        retry_after: str | None = None,
        overflow: str = "openai",
    ) -> None:
        super().__init__()
        self.reply = reply
        self.behaviour: Behaviour = behaviour
        self.retry_after = retry_after
        self.overflow = overflow
        self.requests: list[Mapping[str, object]] = []
        """Bodies of the chat requests received."""
        self.keys: list[str] = []
        """Keys they came with."""

    @property
    def url(self) -> str:
        """Its base address."""
        return f"{self.root}/v1"

    async def answer(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        """As it is told to behave."""
        self.keys.append(asked.headers.get("authorization", "").removeprefix("Bearer "))
        await self._answer(asked.path, asked.body, writer)

    async def _answer(self, path: str, body: bytes, writer: asyncio.StreamWriter) -> None:
        if path.endswith("/models"):
            await _send(writer, 200, {"object": "list", "data": [{"id": "small"}, {"id": "large"}]})
            return
        request = cast("dict[str, object]", json.loads(body))
        self.requests.append(request)
        form = cast("dict[str, object]", request.get("response_format") or {}).get("type")
        match self.behaviour:
            case "refuses-schema" if form == "json_schema":
                await _send(writer, 400, _error("response_format: json_schema is not supported"))
            case "unauthorized":
                await _send(writer, 401, _error("Incorrect API key provided: sk-very-secret"))
            case "no-model":
                await _send(writer, 404, _error("model 'tiny' not found"))
            case "busy":
                more = {"retry-after": self.retry_after} if self.retry_after else {}
                await _send(writer, 429, _error("rate limit"), more)
            case "overflow":
                await _send(writer, 400, _error(_OVERFLOWS[self.overflow]))
            case "failing":
                await _send(writer, 500, _error("out of memory"))
            case "hanging":
                await asyncio.Event().wait()
            case "dripping":
                await drip(writer)
            case "html":
                await _send_bytes(writer, 200, b"<html><body>proxy</body></html>", "text/html")
            case "empty":
                await _send_bytes(writer, 200, b"", "application/json")
            case "no-choices":
                await _send(writer, 200, {"id": "x", "choices": []})
            case _:
                await self._say(request, writer)

    async def _say(self, request: Mapping[str, object], writer: asyncio.StreamWriter) -> None:
        finish = "length" if self.behaviour == "cut-off" else "stop"
        if not request.get("stream"):
            message = {"role": "assistant", "content": self.reply, "reasoning_content": "I think of dogs."}
            usage = {"prompt_tokens": 11, "completion_tokens": 7}
            await _send(writer, 200, {"choices": [{"message": message, "finish_reason": finish}], "usage": usage})
            return
        writer.write(head(200, {"transfer-encoding": "chunked"}, "text/event-stream"))
        pieces = self.reply.split(" ")
        for number, piece in enumerate(pieces):
            delta = {"content": piece if number == 0 else f" {piece}"}
            _chunk(writer, {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
            await writer.drain()
            await asyncio.sleep(0.005)
            if self.behaviour == "resetting" and number == 0:
                writer.transport.abort()
                return
        last: dict[str, object] = {"index": 0, "delta": {"content": ""}, "finish_reason": finish}
        _chunk(writer, {"choices": [last]})
        done = b"data: [DONE]\n\n"
        writer.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(done), done))
        await writer.drain()


def _error(message: str) -> dict[str, object]:
    return {"error": {"message": message, "type": "invalid_request_error"}}


async def _send(
    writer: asyncio.StreamWriter, status: int, value: object, more: Mapping[str, str] | None = None
) -> None:
    await _send_bytes(writer, status, json.dumps(value).encode(), "application/json", more)


async def _send_bytes(
    writer: asyncio.StreamWriter, status: int, body: bytes, kind: str, more: Mapping[str, str] | None = None
) -> None:
    writer.write(head(status, {**(more or {}), "content-length": str(len(body))}, kind) + body)
    await writer.drain()


def _chunk(writer: asyncio.StreamWriter, value: object) -> None:
    data = f"data: {json.dumps(value)}\n\n".encode()
    writer.write(b"%x\r\n%s\r\n" % (len(data), data))
