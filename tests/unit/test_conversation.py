from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from haru.chatlog import ChatLog, ChatLogReader, Finding, SessionEnd, SessionStart, Turn
from haru.conversation import Conversation, ConversationSettings
from haru.embed.static import StaticEmbedder
from haru.errors import ModelUnreachable
from haru.index.inprocess import InProcessIndex
from haru.memory import Memory
from haru.recall.sessions import Sessions
from haru.testing.model import ScriptedModel


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = datetime(2026, 12, 1, 18, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


class Home:
    """A conversation with all that it needs."""

    def __init__(self, folder: Path, model: ScriptedModel) -> None:
        self.folder = folder
        self.clock = Clock()
        self.model = model
        self.index = InProcessIndex(StaticEmbedder())
        self.sessions = Sessions(self.index, StaticEmbedder())
        self.log = ChatLog(folder, now=self.clock)
        self.conversation = Conversation(
            self.sessions, model, self.log, ConversationSettings(door="test"), now=self.clock
        )

    async def say(self, words: str) -> str:
        """One turn; the whole reply."""
        return "".join([piece async for piece in self.conversation.reply(words)])

    async def aclose(self) -> None:
        await self.conversation.aclose()
        await self.sessions.aclose()
        await self.log.aclose()
        await self.index.aclose()

    def logged(self) -> list[object]:
        return [record for _, record in ChatLogReader(self.folder).poll()]

    def turns(self) -> list[Turn]:
        return [record for record in self.logged() if isinstance(record, Turn)]


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    """A household whose model always says the same."""
    made = Home(tmp_path / "log", ScriptedModel(lambda _: "Biscuit, of course."))
    yield made
    await made.aclose()


async def test_a_turn_is_logged_with_its_receipt(home: Home, memory: Callable[..., Memory]) -> None:
    """Words, reply, door and what was recalled: all that the writer and a curious person need."""
    await home.index.put([memory("The user's dog is called Biscuit.")])
    assert await home.say("what's my dog called") == "Biscuit, of course."
    await home.conversation.aclose()
    start, turn, end = home.logged()
    assert isinstance(start, SessionStart)
    assert isinstance(turn, Turn)
    assert isinstance(end, SessionEnd)
    assert (turn.said, turn.reply, turn.door, turn.interrupted) == (
        "what's my dog called", "Biscuit, of course.", "test", False,
    )  # fmt: skip
    assert turn.receipt is not None
    assert turn.receipt.outcome == "search"
    assert len(turn.receipt.recalled) == 1
    assert turn.session == start.session == end.session


async def test_the_memory_block_is_read_once_and_never_logged(home: Home, memory: Callable[..., Memory]) -> None:
    """It goes up with the turn it belongs to, and neither into the history nor into the log."""
    await home.index.put([memory("The user's dog is called Biscuit.")])
    await home.say("what's my dog called")
    await home.say("thanks")
    first, second = home.model.calls
    assert sum("[noted 2026-12-01]" in message.content for message in first) == 1
    assert not any("[noted" in message.content for message in second)
    await home.conversation.aclose()
    assert all("noted" not in turn.said + turn.reply for turn in home.turns())


async def test_an_interrupted_reply_is_logged_as_heard(home: Home) -> None:
    """What was never heard must not be taken for said."""
    async with aclosing(home.conversation.reply("tell me a long story about a dog")) as pieces:
        async for _ in pieces:
            break
    await home.conversation.aclose()
    (turn,) = home.turns()
    assert turn.interrupted
    assert turn.heard_reply == turn.reply
    assert 0 < len(turn.reply) < len("Biscuit, of course.")


async def test_a_failing_model_loses_no_words(tmp_path: Path) -> None:
    """The person's words are logged though nobody answered them."""
    home = Home(tmp_path / "log", ScriptedModel([ModelUnreachable("nothing answers at 127.0.0.1:1")]))
    with pytest.raises(ModelUnreachable):
        await home.say("my dog is called Biscuit")
    await home.aclose()
    (turn,) = home.turns()
    assert (turn.said, turn.reply) == ("my dog is called Biscuit", "")


async def test_fifteen_idle_minutes_begin_a_new_session(home: Home) -> None:
    """The new one has another id, and nothing of the old one's history."""
    await home.say("my dog is called Biscuit")
    first = home.conversation.session
    home.clock.now += timedelta(minutes=14)
    await home.say("and he likes rice")
    assert home.conversation.session == first
    home.clock.now += timedelta(minutes=16)
    await home.say("what's the weather on the moon")
    assert home.conversation.session != first
    assert len(home.model.calls[-1]) == 2


async def test_a_clock_set_back_ends_no_session(home: Home) -> None:
    """After a boot the clock may jump by years in either direction; back is not idle."""
    await home.say("my dog is called Biscuit")
    first = home.conversation.session
    home.clock.now -= timedelta(days=400)
    await home.say("and he likes rice")
    await home.conversation.aclose()
    assert {turn.session for turn in home.turns()} == {first}
    assert len(home.turns()) == 2


async def test_findings_are_read_as_data_and_logged(home: Home) -> None:
    """What a tool looked up stands beside the words, not in them."""
    finding = Finding(tool="web", query="pool hours", text="The pool opens at seven.")
    async with aclosing(home.conversation.reply("when does the pool open", findings=[finding])) as pieces:
        assert [piece async for piece in pieces]
    await home.conversation.aclose()
    (turn,) = home.turns()
    assert turn.said == "when does the pool open"
    assert turn.findings == (finding,)
    assert "The pool opens at seven." in home.model.calls[0][-1].content


async def test_a_log_that_takes_nothing_stops_no_conversation(home: Home) -> None:
    """The disk is full or read-only: five turns are answered, the trouble is visible, nothing is lost afterwards."""
    home.folder.parent.mkdir(parents=True, exist_ok=True)
    home.folder.write_text("in the way")  # a file where the folder should be: even root can't write below it
    for count in range(5):
        assert await home.say(f"thing number {count}") == "Biscuit, of course."
    for _ in range(100):
        if home.conversation.log_problem:
            break
        await asyncio.sleep(0.01)
    assert "cannot write" in home.conversation.log_problem
    home.folder.unlink()
    await home.say("and now there is room")
    await home.conversation.aclose()
    assert home.conversation.log_problem == ""
    assert [turn.said for turn in home.turns()] == [*(f"thing number {n}" for n in range(5)), "and now there is room"]


async def test_speech_that_began_has_memories_at_hand(home: Home, memory: Callable[..., Memory]) -> None:
    """The seams for voice: start at speech begun, partial text, then the words."""
    await home.index.put([memory("The user's dog is called Biscuit.")])
    await home.conversation.start()
    await home.conversation.hear("what's my dog called")
    await home.conversation.hear("what's my dog called")  # the text stays: it is searched at once
    await asyncio.sleep(0.4)
    await home.say("What's my dog called?")
    assert home.conversation.last is not None
    receipt = home.conversation.last.receipt
    assert receipt is not None
    assert (receipt.outcome, receipt.preload) == ("speculative", "ready")
