"""The writer at work: real log, journal and index, a scripted extractor, and a clock that the test moves."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from haru.chatlog import SessionEnd, Turn
from haru.embed.static import StaticEmbedder
from haru.errors import (
    ContextOverflow,
    HaruError,
    IndexBusy,
    IndexUnavailable,
    ModelBusy,
    ModelUnreachable,
    ReplyUnusable,
)
from haru.forgotten import Forgotten
from haru.index.inprocess import InProcessIndex
from haru.journal import Journal, Retry
from haru.lines import LineFile
from haru.memory import Evidence, Memory, SearchRef
from haru.ports import Filters
from haru.receipt import Recalled, Receipt
from haru.testing.faults import FaultyIndex
from haru.writer.batch import Batch, Proposal, ProposedAdd, ProposedRetire, ProposedUpdate
from haru.writer.due import DueRule
from haru.writer.progress import Progress
from haru.writer.worker import Writer, WriterBusy, WriterSettings, alone

START = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
Make = Callable[..., Memory]


class Extractor:
    """Remembers each turn as it was said, or does what it is told."""

    id = "test"

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.does: Callable[[Batch], Proposal] = self.each_turn

    async def extract(self, batch: Batch) -> Proposal:
        self.batches.append(batch)
        return self.does(batch)

    @staticmethod
    def each_turn(batch: Batch) -> Proposal:
        return Proposal(
            adds=tuple(
                ProposedAdd(text=turn.said, subject="x", evidence=Evidence(session=batch.session, turns=(turn.id,)))
                for turn in batch.turns
            )
        )

    def fails_with(self, error: HaruError) -> None:
        def fail(_: Batch) -> Proposal:
            raise error

        self.does = fail


class House:
    """A log, a journal, an index, and a writer over them."""

    def __init__(self, folder: Path, rule: DueRule | None = None) -> None:
        self.folder = folder
        self.now = START
        self.index = FaultyIndex(InProcessIndex(StaticEmbedder()))
        self.journal = Journal(folder / "journal.jsonl", sync=False)
        self.extractor = Extractor()
        self.rule = rule or DueRule()
        self.forgotten = Forgotten(folder / "forgotten.jsonl")
        self.writer = self.new_writer()

    def new_writer(self) -> Writer:
        return Writer(
            self.folder / "log",
            Journal(self.journal.path, sync=False),
            self.index,
            self.extractor,
            WriterSettings(rule=self.rule),
            forgotten=self.forgotten,
            now=lambda: self.now,
        )

    def log(self, *records: Turn | SessionEnd, day: int = 1) -> None:
        file = LineFile(self.folder / "log" / f"chat-2026-12-{day:02}.jsonl", sync=False)
        file.append([record.model_dump_json(exclude_none=True).encode() for record in records])

    def said(self, *texts: str, session: str = "s-1", **fields: object) -> list[Turn]:
        """Log some turns, five seconds apart; the clock goes along."""
        turns = [
            Turn.model_validate(
                {
                    "id": f"t-{session}-{abs(hash((text, n, self.now))) % 10**9}",
                    "session": session,
                    "at": self.now + timedelta(seconds=5 * (n + 1)),
                    "said": text,
                    "reply": "ok",
                    **fields,
                }
            )
            for n, text in enumerate(texts)
        ]
        self.log(*turns)
        self.later(seconds=5 * len(texts))
        return turns

    def later(self, **time: float) -> None:
        self.now += timedelta(**time)

    async def texts(self) -> list[str]:
        return sorted(each.text for each in (await self.index.page()).memories)

    def progress(self) -> Progress:
        found = Progress()
        for _, record in self.journal.read():
            found.take(record)
        return found


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    made = House(tmp_path)
    yield made
    await made.index.aclose()


async def test_a_session_is_due_after_two_quiet_minutes(house: House) -> None:
    """Not while somebody still talks."""
    house.said("The user keeps bees.")
    assert await house.writer.once() == []
    house.later(seconds=100)
    assert await house.writer.once() == []
    house.later(seconds=30)
    (outcome,) = await house.writer.once()
    assert (outcome.turns, outcome.added, outcome.problem) == (1, 1, "")
    assert await house.texts() == ["The user keeps bees."]
    assert await house.writer.once() == []


async def test_twenty_new_turns_are_due_at_once(house: House) -> None:
    """A long talk is mined while it goes on, twenty turns a time."""
    house.said(*(f"The user has thing {n}." for n in range(45)))
    outcomes = await house.writer.once()
    assert [outcome.turns for outcome in outcomes] == [20, 20]
    assert house.writer.backlog == 5
    house.later(minutes=3)
    (outcome,) = await house.writer.once()
    assert outcome.turns == 5
    assert len(await house.texts()) == 45


async def test_a_session_that_ended_is_due_at_once(house: House) -> None:
    """There is nothing to wait for."""
    house.said("The user keeps bees.")
    house.log(SessionEnd(session="s-1", at=house.now))
    assert len(await house.writer.once()) == 1


async def test_as_many_turns_are_shown_as_are_asked_for(tmp_path: Path) -> None:
    """None, too; and more than the usual six."""
    for number in (0, 8):
        house = House(tmp_path / str(number), DueRule(context_turns=number))
        house.said(*(f"The user has thing {n}." for n in range(10)))
        house.later(minutes=3)
        await house.writer.once()
        house.said("The user has a boat.")
        house.later(minutes=3)
        await house.writer.once()
        shown = [turn.said for turn in house.extractor.batches[-1].context]
        assert shown == [f"The user has thing {n}." for n in range(10 - number, 10)]
        await house.index.aclose()


async def test_earlier_turns_are_context_and_not_mined_again(house: House) -> None:
    """Up to six, those just before."""
    house.said(*(f"The user has thing {n}." for n in range(10)))
    house.later(minutes=3)
    await house.writer.once()
    house.said("The user has thing 10.")
    house.later(minutes=3)
    await house.writer.once()
    batch = house.extractor.batches[-1]
    assert [turn.said for turn in batch.turns] == ["The user has thing 10."]
    assert [turn.said for turn in batch.context] == [f"The user has thing {n}." for n in range(4, 10)]


async def test_a_restart_repeats_and_skips_nothing(house: House) -> None:
    """Progress stands in the journal: by turn, not by count or place in a file."""
    house.said("The user keeps bees.", "The user has a boat.")
    house.later(minutes=3)
    await house.writer.once()
    house.said("The user plays chess.")
    house.later(minutes=3)
    (outcome,) = await house.new_writer().once()
    assert outcome.turns == 1
    assert len(await house.texts()) == 3


async def test_a_cut_and_rewritten_log_hides_nothing(house: House) -> None:
    """Retention removed old lines, and a progress mark by position once pointed past the end."""
    old = house.said("The user keeps bees.", "The user has a boat.")
    house.later(minutes=3)
    await house.writer.once()
    path = house.folder / "log" / "chat-2026-12-01.jsonl"
    path.unlink()
    house.log(old[1])
    house.said("The user plays chess.", "The user sings.")
    house.later(minutes=3)
    (outcome,) = await house.writer.once()
    assert outcome.turns == 2
    assert len(await house.texts()) == 4


async def test_a_clock_set_back_hides_nothing(house: House) -> None:
    """Turns of an earlier file that come later are mined all the same, and a time ahead is not waited for."""
    house.said("The user keeps bees.")
    house.later(minutes=3)
    await house.writer.once()
    house.now -= timedelta(days=400)
    house.log(Turn(id="t-b", session="s-1", at=house.now, said="The user has a boat."), day=2)
    house.log(Turn(id="t-f", session="s-2", at=house.now + timedelta(days=900), said="The user sings."), day=3)
    await house.writer.once()
    house.later(minutes=3)
    await house.writer.once()
    assert await house.texts() == ["The user has a boat.", "The user keeps bees.", "The user sings."]


async def test_what_is_not_for_haru_is_never_shown(house: House) -> None:
    """Its own voice heard again, noise, television, and what was said off the record: done, without a call."""
    house.said("your dog biscuit has an appointment", mark="echo")
    house.said("crackle", mark="noise")
    house.said("Detective, my mother turns seventy on the ninth of May.", addressed=False)
    house.said("The user's PIN is secret.", off_record=True)
    house.said("  ")
    house.later(minutes=3)
    (outcome,) = await house.writer.once()
    assert (outcome.turns, outcome.added) == (5, 0)
    assert house.extractor.batches == []
    house.said("The user keeps bees.")
    house.later(minutes=3)
    await house.writer.once()
    assert [turn.said for turn in house.extractor.batches[-1].turns] == ["The user keeps bees."]
    assert house.extractor.batches[-1].context == ()


async def test_parts_of_one_sentence_stay_together(house: House) -> None:
    """A pause for thought cut a sentence in three, and the limit of twenty fell between its parts."""
    house.said(*(f"The user has thing {n}." for n in range(19)))
    parts = ["remind me to call my", "sister on Sunday about the, uh", "cello"]
    house.log(*(
        Turn(id=f"t-p{n}", session="s-1", at=house.now + timedelta(seconds=1.1 * n), said=part)
        for n, part in enumerate(parts)
    ))  # fmt: skip
    await house.writer.once()
    house.later(minutes=3)
    await house.writer.once()
    together = [[turn.said for turn in batch.turns if turn.said in parts] for batch in house.extractor.batches]
    assert [each for each in together if each] == [parts]


async def test_related_memories_are_shown(house: House, memory: Make) -> None:
    """Those that came up, those that a search finds in other words, no retired ones, at most forty."""
    birthday, seen = memory("The user's wife's birthday is June 3."), memory("The user lives in Boise.")
    gone = memory("The user's spouse likes tea.", status="retired")
    await house.index.put(
        [birthday, seen, gone, *(memory(f"Somebody has thing {n}.", importance=1) for n in range(90))]
    )
    receipt = Receipt(
        budget_ms=250, elapsed_ms=1, waited_ms=1, outcome="search",
        recalled=(Recalled(id=seen.id, source="search", score=1.0),),
    )  # fmt: skip
    house.said("My spouse was born on the 3rd of June.", receipt=receipt)
    house.later(minutes=3)
    await house.writer.once()
    shown = [each.text for each in house.extractor.batches[-1].related]
    assert shown[0] == seen.text
    assert birthday.text in shown[:3]
    assert gone.text not in shown
    assert len(shown) == 40


async def test_use_and_feedback(house: House, memory: Make) -> None:
    """Counted once a batch; its searches hear of it, and it keeps the questions it came up for."""
    dog = memory("The user's dog is called Biscuit.")
    await house.index.put([dog])

    def receipt(query_id: str, position: int) -> Receipt:
        ref = SearchRef(query_id=query_id, session_id="household")
        recalled = (Recalled(id=dog.id, source="search", score=1.0, position=position, ref=ref),)
        query = said[query_id]
        return Receipt(budget_ms=250, elapsed_ms=1, waited_ms=1, outcome="search", query=query, recalled=recalled)

    said = {"q-1": "what's my dog called", "q-2": "how was the puppy named"}
    house.said("Um, what's my dog called?", receipt=receipt("q-1", 0))
    house.said("How was the puppy named again?", receipt=receipt("q-2", 3))
    house.extractor.does = lambda _: Proposal(relevant=(dog.id,))
    house.later(minutes=3)
    (outcome,) = await house.writer.once()
    assert outcome.helped == 1
    (used,) = await house.index.get([dog.id])
    assert (used.use_count, used.last_used_at) == (1, house.now)
    assert used.expected_queries == ("dog", "puppy")
    inner = house.index._inner
    assert isinstance(inner, InProcessIndex)
    assert {(each.ref.query_id, each.position) for each in inner.events.values()} == {("q-1", 0), ("q-2", 3)}


async def test_a_persons_edit_meanwhile_is_not_lost(house: House, memory: Make) -> None:
    """The model looked at the old text: its change is dropped and counted."""
    boise = memory("The user lives in Boise.")
    await house.index.put([boise])
    house.said("We moved to Denver.")

    class Slow(Extractor):
        async def extract(self, batch: Batch) -> Proposal:
            await house.index.put([boise.changed(text="The user lives in Boise, Idaho.")])
            return Proposal(updates=(ProposedUpdate(id=boise.id, text="The user lives in Denver."),))

    house.extractor = Slow()
    house.later(minutes=3)
    (outcome,) = await house.new_writer().once()
    assert outcome.dropped == ("update: changed or gone meanwhile",)
    assert await house.texts() == ["The user lives in Boise, Idaho."]


async def test_retired_is_kept_with_its_reason(house: House, memory: Make) -> None:
    """Nothing is lost by retiring."""
    car = memory("The user owns a red car.")
    await house.index.put([car])
    house.said("I sold my red car.")
    house.extractor.does = lambda _: Proposal(retires=(ProposedRetire(id=car.id, reason="sold"),))
    house.later(minutes=3)
    await house.writer.once()
    kept = (await house.index.page(filters=Filters(status=None))).memories
    assert [(each.text, each.status) for each in kept] == [(car.text, "retired")]


async def test_what_was_forgotten_does_not_come_back(house: House, memory: Make) -> None:
    """Not from the turns it rested on, in whatever words; said again later, by choice, it may."""
    (turn,) = house.said("I had knee surgery in May.")
    told = memory("The user had knee surgery in May.", evidence=(Evidence(session="s-1", turns=(turn.id,)),))
    house.forgotten.add(told, house.now)
    house.extractor.does = lambda batch: Proposal(
        adds=(
            ProposedAdd(
                text="The user's knee was operated on.",
                evidence=Evidence(session="s-1", turns=(batch.turns[0].id,)),
            ),
        )
    )
    house.later(minutes=3)
    (outcome,) = await house.writer.once()
    assert outcome.dropped == ("add: forgotten at a person's wish",)
    assert await house.texts() == []
    house.later(days=30)
    house.said("My knee was operated on, you may know it now.")
    house.later(minutes=3)
    await house.writer.once()
    assert await house.texts() == ["The user's knee was operated on."]


async def test_a_bad_batch_is_split_and_its_worst_turn_set_aside(house: House) -> None:
    """The good turns around it are learned; the bad one is kept, with its reason, and can be run again."""
    house.said(*(f"The user has thing {n}." for n in range(4)), "poison", "The user sings.")

    def choosy(batch: Batch) -> Proposal:
        if any(turn.said == "poison" for turn in batch.turns):
            raise ReplyUnusable("no JSON")
        return Extractor.each_turn(batch)

    house.extractor.does = choosy
    for _ in range(40):
        house.later(minutes=90)
        await house.writer.once()
    assert len(await house.texts()) == 5
    assert len(house.extractor.batches) <= 20
    (kept,) = house.progress().aside.values()
    assert kept.reason == "reply-unusable"
    assert len(kept.turns) == 1
    house.extractor.does = Extractor.each_turn
    await house.journal.append(Retry(at=house.now, session=kept.session, turns=kept.turns))
    await house.new_writer().once()
    assert "poison" in await house.texts()
    assert house.progress().aside == {}


async def test_a_batch_that_always_fails_costs_few_calls_and_delays_nobody(house: House) -> None:
    """At most twelve calls, then it is set aside whole; other sessions go on all the while."""
    house.said(*(f"bad {n}" for n in range(12)), session="s-bad")

    def choosy(batch: Batch) -> Proposal:
        if batch.session == "s-bad":
            raise ReplyUnusable("no JSON")
        return Extractor.each_turn(batch)

    house.extractor.does = choosy
    for n in range(60):
        house.later(minutes=30)
        house.said(f"The user has thing {n}.", session=f"s-{n}")
        house.later(minutes=3)
        await house.writer.once()
        assert f"The user has thing {n}." in await house.texts()
    assert sum(batch.session == "s-bad" for batch in house.extractor.batches) <= 12
    assert house.progress().done >= {turn for kept in house.progress().aside.values() for turn in kept.turns}
    assert house.writer.backlog == 0


async def test_a_six_hour_outage_costs_few_calls_and_loses_nothing(house: House) -> None:
    """Nothing counts against the batch: it is learned when the model is back."""
    house.said("The user keeps bees.")
    house.said("The user has a boat.", session="s-2")
    house.extractor.fails_with(ModelUnreachable("nothing answers"))
    for _ in range(6 * 60 * 3):
        house.later(seconds=20)
        await house.writer.once()
    assert len(house.extractor.batches) <= 12
    assert house.progress().aside == {}
    house.extractor.does = Extractor.each_turn
    house.later(hours=1)
    await house.writer.once()
    assert await house.texts() == ["The user has a boat.", "The user keeps bees."]


@pytest.mark.parametrize(
    ("hint", "least_s", "most_s"), [(2.0, 2.0, 120.0), (30.0, 30.0, 120.0), (None, 1.0, 120.0), (3600.0, 120.0, 120.0)]
)
@pytest.mark.parametrize("kind", [ModelBusy, IndexBusy])
async def test_a_busy_service_is_waited_for(
    house: House, kind: type[ModelBusy | IndexBusy], hint: float | None, least_s: float, most_s: float
) -> None:
    """At least as long as it asked, at most two minutes; one request at a time; and it is no failure of the batch."""
    for n in range(25):
        house.said(f"The user has thing {n}.", session=f"s-{n}")
    house.later(minutes=3)
    house.extractor.fails_with(kind("slow down", hint))
    await house.writer.once()
    assert len(house.extractor.batches) == 1
    house.later(seconds=least_s - 0.5)
    await house.writer.once()
    assert len(house.extractor.batches) == 1
    house.later(seconds=most_s - least_s + 1)
    await house.writer.once()
    assert len(house.extractor.batches) == 2
    house.extractor.does = Extractor.each_turn
    house.later(minutes=3)
    await house.writer.once()
    assert len(await house.texts()) == 25
    assert house.progress().aside == {}


async def test_a_prompt_too_long_is_split_at_once(house: House) -> None:
    """Without waiting: the next try is shorter."""
    house.said(*(f"The user has thing {n}." for n in range(8)))

    def small(batch: Batch) -> Proposal:
        if len(batch.turns) > 2:
            raise ContextOverflow("too long")
        return Extractor.each_turn(batch)

    house.extractor.does = small
    house.later(minutes=3)
    for _ in range(12):
        await house.writer.once()
    assert len(await house.texts()) == 8


async def test_an_index_that_takes_nothing_keeps_what_was_learned(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    """Journalled, said, brought to the index later, without asking the model again and without doubling."""
    house.said("The user keeps bees.")

    def learned_then_locked(batch: Batch) -> Proposal:
        return Extractor.each_turn(batch)

    house.extractor.does = learned_then_locked
    house.later(minutes=3)

    class Locked(FaultyIndex):
        async def put(self, memories: object) -> None:
            raise IndexUnavailable("database is locked")

    house.index = Locked(InProcessIndex(StaticEmbedder()))
    writer = house.new_writer()
    with caplog.at_level(logging.WARNING):
        (outcome,) = await writer.once()
    assert outcome.problem == ""
    assert "kept in the journal" in caplog.text
    house.later(minutes=3)
    (outcome,) = await writer.once()
    assert outcome.problem == "index-unavailable"
    house.index = FaultyIndex(InProcessIndex(StaticEmbedder()))
    house.later(hours=2)
    await house.new_writer().once()
    assert await house.texts() == ["The user keeps bees."]
    assert len(house.extractor.batches) == 1


async def test_a_journal_on_a_full_disk_loses_nothing(house: House) -> None:
    """Nothing is marked as done that is not; when there is room again it is learned, once."""
    house.said("The user keeps bees.")
    house.later(minutes=3)
    house.journal.path.mkdir()  # in the way, as a full disk would be
    (outcome,) = await house.writer.once()
    assert outcome.problem == "log-unwritable"
    assert await house.texts() == []
    house.journal.path.rmdir()
    house.later(hours=2)
    await house.writer.once()
    assert await house.texts() == ["The user keeps bees."]
    assert house.writer.backlog == 0


async def test_no_words_reach_the_program_log(house: House, caplog: pytest.LogCaptureFixture) -> None:
    """What people say is for the chat log alone."""
    with caplog.at_level(logging.DEBUG):
        house.said("The user keeps xylophones.")
        house.extractor.fails_with(ReplyUnusable("no JSON"))
        house.later(minutes=3)
        await house.writer.once()
        house.extractor.does = Extractor.each_turn
        house.later(hours=3)
        await house.writer.once()
    assert await house.texts() == ["The user keeps xylophones."]
    assert "xylophone" not in caplog.text


async def test_it_stops_when_asked(house: House) -> None:
    """After the batch in hand, not after the next pause."""
    stop = asyncio.Event()
    running = asyncio.create_task(house.writer.run(stop))
    await asyncio.sleep(0.05)
    stop.set()
    await asyncio.wait_for(running, 2.0)


def test_there_is_one_writer(tmp_path: Path) -> None:
    """A second one is told so; a lock file that was left behind, whatever stands in it, keeps nobody out."""
    lock = tmp_path / "writer.lock"
    lock.write_text("1")  # a program that surely runs
    with alone(lock), pytest.raises(WriterBusy), alone(lock):
        pass
    with alone(lock):
        pass
