"""OpenAIChat: any OpenAI-compatible service, through the official client.

Answers are read as raw JSON and checked here: services differ in what they leave out, and a proxy's HTML page with
status 200 must not pass for a reply.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ValidationError

from haru.errors import ModelUnreachable, ReplyUnusable, SettingsError
from haru.llm.failures import failure, refuses_format
from haru.ports import Completion, Message

if TYPE_CHECKING:
    from openai import AsyncOpenAI, AsyncStream

_NO_KEY = "none"
"""Sent where no key is set: the client insists on one, local services ignore it."""


class OpenAIChat:
    """A model at a service.

    Args:
        url: base address, usually ending in ``/v1``.
        model: the model's name, as the service knows it.
        key: access key; never shown.
        name: what people call the model, where that is not ``model``.

    Raises:
        SettingsError: the address or the key cannot be one.
    """

    def __init__(self, url: str, model: str, key: str = "", *, name: str = "") -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise SettingsError(f"llm.url must be an address like http://127.0.0.1:11434/v1, not {url!r}")
        if not (key.isascii() and key.isprintable()):
            raise SettingsError("llm.key holds characters that no key has; copy it again")
        self.id = name or model
        self._service = f"{parts.hostname}:{parts.port or {'http': 80, 'https': 443}[parts.scheme]}"
        self._loopback = parts.hostname in {"127.0.0.1", "localhost", "::1"}
        self._url = url
        self._model = model
        self._key = key
        self._client: AsyncOpenAI | None = None
        self._starting = asyncio.Lock()
        self._rung = 0

    def __repr__(self) -> str:
        return f"OpenAIChat({self._service}, {self._model})"

    async def stream(
        self, messages: Sequence[Message], *, max_tokens: int = 512, timeout_s: float = 60.0
    ) -> AsyncGenerator[str]:
        """See `haru.ports.ChatModel.stream`. Closing it early closes the connection."""
        import openai

        deadline = asyncio.get_running_loop().time() + timeout_s
        client = await self._started()
        stream: AsyncStream[Any] | None = None
        try:
            async with asyncio.timeout_at(deadline):
                stream = await client.chat.completions.create(
                    model=self._model, messages=_sent(messages), max_tokens=max_tokens, stream=True
                )
            while True:
                # The limit is set anew around each step: held across a yield it would cancel the reader's own work.
                async with asyncio.timeout_at(deadline):
                    chunk = await anext(stream, None)
                if chunk is None:
                    return
                if piece := _piece(chunk):
                    yield piece
        except openai.APIStatusError as error:
            raise await self._refusal(error.status_code, error.response.content, error.response.headers) from None
        except (openai.APIError, TimeoutError, json.JSONDecodeError) as error:
            raise self._unreachable(error) from None
        finally:
            if stream is not None:
                await _run_out(stream)

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, object] | None = None,
        max_tokens: int = 2048,
        timeout_s: float = 120.0,
    ) -> Completion:
        """See `haru.ports.ChatModel.complete`.

        Services differ in the forms of answer that they can give: the strictest is asked for first, and what was
        refused once is not asked for again.
        """
        import openai

        client = await self._started()
        forms = _forms(schema)
        async with asyncio.timeout(timeout_s) as limit:
            while True:
                rung = min(self._rung, len(forms) - 1)
                try:
                    raw = await client.chat.completions.with_raw_response.create(
                        model=self._model, messages=_sent(messages), max_tokens=max_tokens, extra_body=forms[rung]
                    )
                    return _completion(raw.http_response.content, self._service)
                except openai.APIStatusError as error:
                    if rung + 1 < len(forms) and refuses_format(error.status_code, error.response.content):
                        self._rung = rung + 1
                        continue
                    raise await self._refusal(
                        error.status_code, error.response.content, error.response.headers
                    ) from None
                except openai.APIError as error:
                    raise self._unreachable(error) from None
                except asyncio.CancelledError:
                    if limit.expired():
                        raise self._unreachable(TimeoutError()) from None
                    raise

    async def models(self) -> list[str]:
        """Names that the service lists; none where it has no such list."""
        import openai

        client = await self._started()
        try:
            async with asyncio.timeout(5.0):
                return [each.id async for each in client.models.list()]
        except (openai.APIError, TimeoutError, json.JSONDecodeError, AttributeError, TypeError):
            return []

    async def aclose(self) -> None:
        """See `haru.ports.ChatModel.aclose`."""
        if self._client:
            client, self._client = self._client, None
            await client.close()

    async def _started(self) -> AsyncOpenAI:
        async with self._starting:
            if self._client is None:
                self._client = await asyncio.to_thread(self._start)  # importing the client takes half a second
            return self._client

    def _start(self) -> AsyncOpenAI:
        import openai

        client = openai.AsyncOpenAI(
            base_url=self._url,
            api_key=self._key or _NO_KEY,
            max_retries=0,  # who calls decides: the hot path never, the writer with pauses
            http_client=openai.DefaultAsyncHttpxClient(trust_env=not self._loopback),
        )
        client.organization = client.project = None  # ours to set, not the environment's
        _ = client.chat.completions, client.models  # they too are imported at first use
        return client

    async def _refusal(self, status: int, body: bytes, headers: Mapping[str, str]) -> Exception:
        error = failure(status, body, headers, service=self._service, model=self._model, now=datetime.now(UTC))
        if status == 404 and (listed := await self.models()):
            error.args = (f"{error}. It lists: {', '.join(listed[:10])}",)
        return error

    def _unreachable(self, error: Exception) -> ModelUnreachable:
        late = isinstance(error, TimeoutError) or "timed out" in str(error).lower()
        if late:
            return ModelUnreachable(f"{self._service} did not answer in time: is the model loaded, and not too large?")
        return ModelUnreachable(f"no answer from {self._service}: is the service running? Check llm.url")


def _sent(messages: Sequence[Message]) -> Any:
    return [{"role": each.role, "content": each.content} for each in messages]


def _forms(schema: Mapping[str, object] | None) -> list[dict[str, object] | None]:
    if schema is None:
        return [None]
    named = {"name": "answer", "strict": True, "schema": schema}
    return [
        {"response_format": {"type": "json_schema", "json_schema": named}},
        {"response_format": {"type": "json_object", "schema": schema}},
        {"response_format": {"type": "json_object"}},
        None,
    ]


def _piece(chunk: Any) -> str:
    choices = getattr(chunk, "choices", None)
    content = getattr(getattr(choices[0], "delta", None), "content", None) if choices else None
    return content if isinstance(content, str) else ""


class _Answer(BaseModel):
    """As much of a chat completion as is needed."""

    class Choice(BaseModel):
        class Words(BaseModel):
            content: str | None = None

        message: Words
        finish_reason: str | None = None

    class Usage(BaseModel):
        prompt_tokens: int = 0
        completion_tokens: int = 0

    choices: list[Choice]
    usage: Usage | None = None


def _completion(body: bytes, service: str) -> Completion:
    try:
        answer = _Answer.model_validate_json(body)
    except ValidationError:
        raise ReplyUnusable(f"{service} answered with something that is no chat completion: check llm.url") from None
    text = answer.choices[0].message.content if answer.choices else None
    if not text or not text.strip():
        raise ReplyUnusable(f"{service} answered with no text")
    reason = answer.choices[0].finish_reason
    usage = answer.usage or _Answer.Usage()
    return Completion(
        text=text,
        finish="stop" if reason == "stop" else "length" if reason == "length" else "other",
        prompt_tokens=usage.prompt_tokens,
        reply_tokens=usage.completion_tokens,
    )


async def _run_out(stream: AsyncStream[Any]) -> None:
    """Close a stream and run it to its end: a stream that is only closed leaves suspended generators behind."""
    import openai

    await stream.close()
    try:
        async for _ in stream:
            pass
    except (openai.APIError, json.JSONDecodeError):
        return
