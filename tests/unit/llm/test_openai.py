"""Any OpenAI-compatible service, over real sockets: what it can do, and every way in which it can fail."""

from __future__ import annotations

import asyncio
import gc
import json
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime

import pytest

from haru.errors import (
    ContextOverflow,
    ModelBusy,
    ModelFailure,
    ModelRefused,
    ModelUnreachable,
    ReplyUnusable,
    SettingsError,
)
from haru.llm.discover import discover
from haru.llm.failures import retry_after_s
from haru.llm.openai import OpenAIChat
from haru.ports import ChatModel, Message
from haru.testing.model import ScriptedModel
from haru.testing.model_server import Behaviour, ModelServer

KEY = "sk-very-secret"
ASK = [Message(role="system", content="Be kind."), Message(role="user", content="What's my dog called?")]
SCHEMA = {"type": "object", "properties": {"add": {"type": "array"}}}


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as running:
        yield running


@pytest.fixture
async def chat(server: ModelServer) -> AsyncIterator[OpenAIChat]:
    made = OpenAIChat(server.url, "small", KEY)
    yield made
    await made.aclose()


async def streamed(model: ChatModel, **options: float) -> str:
    return "".join([piece async for piece in model.stream(ASK, **options)])  # type: ignore[arg-type]


@pytest.fixture(params=["scripted", "service"])
async def model(request: pytest.FixtureRequest, chat: OpenAIChat) -> ChatModel:
    return chat if request.param == "service" else ScriptedModel(["Biscuit, of course."])


async def test_a_reply_comes_whole_and_in_pieces(model: ChatModel) -> None:
    """Both ways say the same, for the model of the tests as for a real service."""
    assert await streamed(model) == "Biscuit, of course."
    completion = await model.complete(ASK)
    assert (completion.text, completion.finish) == ("Biscuit, of course.", "stop")
    await model.aclose()
    await model.aclose()


async def test_what_is_sent(server: ModelServer, chat: OpenAIChat) -> None:
    """The messages, the model's name, the key, and nothing of the environment."""
    await chat.complete(ASK, max_tokens=9)
    (sent,) = server.requests
    assert sent["messages"] == [each.model_dump() for each in ASK]
    assert (sent["model"], sent["max_tokens"]) == ("small", 9)
    assert server.keys == [KEY]


async def test_thoughts_are_no_part_of_the_reply(chat: OpenAIChat) -> None:
    """Some services send what a model thinks beside what it says; and they count."""
    completion = await chat.complete(ASK)
    assert "dogs" not in completion.text
    assert (completion.prompt_tokens, completion.reply_tokens) == (11, 7)


async def test_a_reply_at_its_limit_says_so(server: ModelServer, chat: OpenAIChat) -> None:
    """Who asked for JSON must not take half of it for whole."""
    server.behaviour = "cut-off"
    assert (await chat.complete(ASK)).finish == "length"


async def test_the_strictest_form_that_a_service_knows(server: ModelServer, chat: OpenAIChat) -> None:
    """Refused once, it is not asked for again."""
    server.behaviour = "refuses-schema"
    server.reply = json.dumps({"add": []})
    for _ in range(2):
        assert (await chat.complete(ASK, schema=SCHEMA)).text == server.reply
    forms = [request.get("response_format", {}).get("type") for request in server.requests]  # type: ignore[union-attr]
    assert forms == ["json_schema", "json_object", "json_object"]


@pytest.mark.parametrize(
    ("behaviour", "error", "words"),
    [
        ("unauthorized", ModelRefused, "key"),
        ("no-model", ModelRefused, "small, large"),
        ("overflow", ContextOverflow, "longer than"),
        ("failing", ModelUnreachable, "HTTP 500"),
        ("busy", ModelBusy, "wait"),
    ],
)
async def test_refusals_say_what_to_do(
    server: ModelServer, chat: OpenAIChat, behaviour: Behaviour, error: type[ModelFailure], words: str
) -> None:
    """Whole or in pieces; and no key is ever shown."""
    server.behaviour = behaviour
    for call in (chat.complete(ASK), streamed(chat)):
        with pytest.raises(error, match=words) as caught:
            await call
        assert KEY not in str(caught.value)
    assert KEY not in repr(chat)


@pytest.mark.parametrize("whose", ["openai", "llama.cpp", "vllm", "ollama"])
async def test_every_services_words_for_too_long(server: ModelServer, chat: OpenAIChat, whose: str) -> None:
    """They all mean that the prompt must be shorter."""
    server.behaviour, server.overflow = "overflow", whose
    with pytest.raises(ContextOverflow):
        await chat.complete(ASK, schema=SCHEMA)
    assert len(server.requests) == 1, "another form of answer does not make a prompt shorter"


@pytest.mark.parametrize("behaviour", ["html", "empty", "no-choices"])
async def test_what_is_no_answer_is_no_reply(server: ModelServer, chat: OpenAIChat, behaviour: Behaviour) -> None:
    """Not an empty success."""
    server.behaviour = behaviour
    with pytest.raises(ReplyUnusable):
        await chat.complete(ASK)


@pytest.mark.parametrize("behaviour", ["hanging", "dripping"])
async def test_the_time_limit_is_on_the_whole(server: ModelServer, chat: OpenAIChat, behaviour: Behaviour) -> None:
    """One byte now and then never trips a limit on silence."""
    await chat.models()
    server.behaviour = behaviour
    for call in (chat.complete(ASK, timeout_s=0.3), streamed(chat, timeout_s=0.3)):
        began = time.perf_counter()
        with pytest.raises(ModelUnreachable, match="in time"):
            await call
        assert time.perf_counter() - began < 2.0


async def test_a_stream_that_breaks_off_keeps_what_came(server: ModelServer, chat: OpenAIChat) -> None:
    """The pieces were heard already; the failure follows them."""
    server.behaviour = "resetting"
    heard: list[str] = []
    with pytest.raises(ModelUnreachable):
        async for piece in chat.stream(ASK):
            heard.append(piece)
    assert "".join(heard) == "Biscuit,"


async def test_closing_a_stream_lets_go_of_everything(server: ModelServer, chat: OpenAIChat) -> None:
    """An interrupted reply leaves no connection reading on and no generator hanging."""
    server.reply = "word " * 500
    for _ in range(3):
        async with aclosing(chat.stream(ASK)) as pieces:
            async for _piece in pieces:
                break
    gc.collect()
    await asyncio.sleep(0.1)
    assert server.open_connections <= 1


async def test_nobody_at_the_address() -> None:
    """Host and port are named."""
    chat = OpenAIChat("http://127.0.0.1:9/v1", "small")
    with pytest.raises(ModelUnreachable, match=r"127\.0\.0\.1:9"):
        await chat.complete(ASK)
    await chat.aclose()


@pytest.mark.parametrize("url", ["", "localhost:11434", "ftp://x/v1", "http://"])
def test_an_address_that_is_none(url: str) -> None:
    """Said before anything is asked."""
    with pytest.raises(SettingsError, match=r"llm\.url"):
        OpenAIChat(url, "small")


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("2", 2.0), ("Tue, 01 Dec 2026 12:00:30 GMT", 30.0), ("", None), ("banana", None), ("3600", 3600.0), ("-5", None)],
)
def test_how_long_to_wait(header: str, seconds: float | None) -> None:
    """A number, a date, or nothing that can be read."""
    assert retry_after_s(header, datetime(2026, 12, 1, 12, 0, tzinfo=UTC)) == seconds


async def test_the_wait_comes_with_the_error(server: ModelServer, chat: OpenAIChat) -> None:
    """So that the writer can keep to it."""
    server.behaviour, server.retry_after = "busy", "7"
    with pytest.raises(ModelBusy) as caught:
        await chat.complete(ASK)
    assert caught.value.retry_after_s == 7.0


async def test_services_on_this_machine_are_found(server: ModelServer) -> None:
    """Those that list models; a port where nothing or something else answers is passed over."""
    port = int(server.url.split(":")[2].split("/")[0])
    found = await discover({"Ollama": port, "vLLM": 9})
    assert [(each.service, each.url, each.models) for each in found] == [("Ollama", server.url, ("small", "large"))]
