"""A person's hand on the memories: look, mend, retire, forget."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pydantic import ValidationError

from haru.chatlog import ChatLog, Turn
from haru.embed.static import StaticEmbedder
from haru.errors import IndexUnavailable
from haru.forgotten import Forgotten
from haru.index.inprocess import InProcessIndex
from haru.index.sqlite import SqliteIndex
from haru.journal import Entry, Journal, replay
from haru.memory import Evidence, Kind, Memory, Status
from haru.ports import Filters
from haru.receipt import Recalled, Receipt
from haru.review import NoSuchMemory, Review, turns

NOON = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
Make = Callable[..., Memory]


class Refusing(InProcessIndex):
    """An index that erases nothing while it is told to be down."""

    down = False

    async def erase(self, ids: Sequence[str]) -> None:
        if self.down:
            raise IndexUnavailable("the index is away")
        await super().erase(ids)


def reviewing(home: Path, index: InProcessIndex | SqliteIndex, *, now: datetime = NOON) -> Review:
    """A review over a home folder."""
    return Review(
        index,
        Journal(home / "journal.jsonl"),
        home / "log",
        Forgotten(home / "forgotten.jsonl"),
        door="test",
        now=lambda: now,
    )


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[SqliteIndex]:
    """An embedded index with vectors."""
    part = SqliteIndex(tmp_path / "index.db", StaticEmbedder())
    await part.start()
    yield part
    await part.aclose()


@pytest.fixture
def review(tmp_path: Path, index: SqliteIndex) -> Review:
    """A review over that index."""
    return reviewing(tmp_path, index)


async def log(home: Path, *said: Turn) -> None:
    """Write turns to the chat log."""
    written = ChatLog(home / "log", now=lambda: NOON)
    for turn in said:
        await written.append(turn)
    await written.aclose()


def turn(said: str, key: str, *, reply: str = "Noted.", recalled: str = "") -> Turn:
    """A turn in which, perhaps, a memory came up."""
    found = (Recalled(id=recalled, source="search", score=1.0),) if recalled else ()
    receipt = Receipt(
        budget_ms=250, elapsed_ms=3, waited_ms=1, outcome="search" if found else "none", query=said, recalled=found
    )
    return Turn(id=key, session="s-1", at=NOON, said=said, reply=reply, receipt=receipt)


def written(home: Path) -> bytes:
    """All bytes of all files."""
    return b"".join(path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file())


async def learned(review: Review, memory: Make, text: str, *keys: str, quote: str = "", **fields: object) -> Memory:
    """A memory as the writer would have learned it from turns."""
    evidence = (Evidence(session="s-1", turns=keys, quote=quote),)
    made = memory(text, evidence=evidence, **fields)
    await review.take([made])
    return made


async def test_a_memory_by_hand_can_be_found_and_mended(review: Review) -> None:
    """What a person adds is found by its words, and an edit replaces them."""
    made = await review.add("Robin plays the cello.", kind=Kind.INTEREST)
    assert [hit.memory.id for hit in (await review.find("cello")).hits] == [made.id]
    edited = await review.edit(made.id, text="Robin plays the viola.", importance=5)
    assert (await review.get(made.id)) == edited
    assert not (await review.find("cello")).hits
    assert edited.importance == 5


async def test_what_breaks_a_rule_changes_nothing(review: Review, tmp_path: Path) -> None:
    """An empty text is refused before the journal is touched."""
    made = await review.add("Robin plays the cello.")
    before = (tmp_path / "journal.jsonl").read_bytes()
    with pytest.raises(ValidationError):
        await review.add("")
    with pytest.raises(ValidationError):
        await review.edit(made.id, text="x" * 401)
    assert (tmp_path / "journal.jsonl").read_bytes() == before


async def test_retiring_can_be_taken_back(review: Review) -> None:
    """A retired memory is not recalled, stays in the list of all, and comes back as it was."""
    made = await review.add("Robin plays the cello.")
    await review.retire(made.id)
    assert not (await review.find("cello")).hits
    assert [each.status async for each in review.all()] == [Status.RETIRED]
    assert [each async for each in review.all(Filters())] == []
    await review.restore(made.id)
    assert [hit.memory.text for hit in (await review.find("cello")).hits] == [made.text]


async def test_the_beginning_of_an_id_is_enough(review: Review, memory: Make) -> None:
    """An id may be cut short while it fits one memory only; otherwise the message says what to do."""
    await review.take([memory("One.", id="mem-aa11"), memory("Two.", id="mem-aa22")])
    assert (await review.get("mem-aa1")).text == "One."
    assert (await review.get("aa2")).text == "Two."
    with pytest.raises(NoSuchMemory, match="give more of it"):
        await review.get("mem-aa")
    with pytest.raises(NoSuchMemory, match="haru memory list"):
        await review.get("mem-zz")


async def test_explaining_leads_back_to_the_words(review: Review, memory: Make, tmp_path: Path) -> None:
    """A memory is explained by the turns it rests on, its changes in order, and where it came up."""
    made = await learned(review, memory, "The user lives in Boise.", "t-1")
    await log(tmp_path, turn("We live in Boise.", "t-1"), turn("Where do we live?", "t-2", recalled=made.id))
    await review.retire(made.id, "we moved")
    told = await review.explain(made.id)
    assert [each.said for each in told.said_in] == ["We live in Boise."]
    assert [(by, change.verb, change.reason) for _, by, change in told.history] == [
        ("test", "import", "imported"),
        ("test", "retire", "we moved"),
    ]
    assert told.recalled_in == ((NOON, "s-1"),)


async def test_forgetting_leaves_no_word_in_any_file(
    review: Review, index: SqliteIndex, memory: Make, tmp_path: Path
) -> None:
    """After a forget, no file under the home folder holds a word of it: not the database, its write-ahead file,
    the journal with its earlier versions, or the log with the turns that tell or recite it.
    """
    made = await learned(review, memory, "The user had knee surgery.", "t-1", quote="I had knee surgery")
    await review.edit(made.id, text="The user had knee surgery in Gdansk.", tags=("surgery",))
    await review.retire(made.id, "the surgery is long ago")
    kept = await review.add("The user's dog is called Biscuit.")
    await log(
        tmp_path,
        turn("I had knee surgery in Gdansk.", "t-1"),
        turn("What happened to my knee?", "t-2", reply="You had knee surgery in Gdansk.", recalled=made.id),
        turn("What is our dog called?", "t-3", reply="Biscuit.", recalled=kept.id),
    )
    _, wiped = await review.forget(made.id)
    assert wiped == 2
    await index.aclose()
    left = written(tmp_path).lower()
    for word in (b"knee", b"surgery", b"surgeri", b"gdansk"):
        assert word not in left
    assert b"biscuit" in left


async def test_forgetting_harms_no_other_record(review: Review, memory: Make, tmp_path: Path) -> None:
    """Log and journal stay readable from end to end; of the turns only the fact is left that they took place."""
    made = await learned(review, memory, "The user had knee surgery.", "t-1")
    other = await review.add("The user's dog is called Biscuit.")
    await log(tmp_path, turn("I had knee surgery.", "t-1"), turn("Our dog is Biscuit.", "t-2"))
    await review.forget(made.id)
    journal = Journal(tmp_path / "journal.jsonl")
    assert list(replay(journal.read())) == [other.id]
    assert journal.problems == 0
    assert [(each.id, each.said) for _, _, each in turns(tmp_path / "log")] == [
        ("t-1", ""),
        ("t-2", "Our dog is Biscuit."),
    ]


async def test_a_neighbour_from_the_same_turn_stays(
    review: Review, index: SqliteIndex, memory: Make, tmp_path: Path
) -> None:
    """Another memory out of the same words stays, in index and journal, but no longer quotes them."""
    quote = "I had knee surgery, and Ana drove me"
    made = await learned(review, memory, "The user had knee surgery.", "t-1", quote=quote)
    ana = await learned(review, memory, "Ana drove the user to the clinic.", "t-1", quote=quote)
    await review.forget(made.id)
    assert [hit.memory.id for hit in (await review.find("clinic")).hits] == [ana.id]
    await index.aclose()
    assert b"knee" not in written(tmp_path)
    assert replay(Journal(tmp_path / "journal.jsonl").read())[ana.id].text == ana.text


async def test_a_short_record_of_another_program_can_be_wiped(review: Review, memory: Make, tmp_path: Path) -> None:
    """A turn that another program logged with few fields is wiped in its place too, whatever text escapes it holds."""
    made = await learned(review, memory, "The user had knee surgery.", "t-1")
    folder = tmp_path / "log"
    folder.mkdir()
    line = json.dumps(
        {"kind": "turn", "id": "t-1", "session": "s-1", "at": "2026-12-01T12:00:00Z", "said": "knee \ud800", "x": "é"}
    )
    (folder / "chat-2026-12-01.jsonl").write_text(line + "\n")
    assert (await review.forget(made.id))[1] == 1
    assert "knee" not in (folder / "chat-2026-12-01.jsonl").read_text()


async def test_an_index_that_is_away_does_not_stop_a_forget(memory: Make, tmp_path: Path) -> None:
    """The words go from the files at once; from the index, with the next change after it is back."""
    index = Refusing()
    review = reviewing(tmp_path, index)
    made = await learned(review, memory, "The user had knee surgery.", "t-1")
    await log(tmp_path, turn("I had knee surgery.", "t-1"))
    index.down = True
    with pytest.raises(IndexUnavailable):
        await review.forget(made.id)
    assert b"knee" not in written(tmp_path)
    index.down = False
    await reviewing(tmp_path, index).add("The user's dog is called Biscuit.")
    assert not await index.get([made.id])


async def test_a_backup_does_not_bring_back_what_was_forgotten(review: Review, memory: Make) -> None:
    """An export from before the forget is taken in without it, under its own id or another."""
    made = await learned(review, memory, "The user had knee surgery.", "t-1")
    await review.forget(made.id)
    same_words = memory("Knee surgery the user had.", id="mem-copy")
    assert await review.take([made, same_words, memory("The user's dog is called Biscuit.")]) == 1
    assert [each.text async for each in review.all()] == ["The user's dog is called Biscuit."]


async def test_what_is_said_again_by_choice_may_be_learned_again(review: Review, memory: Make, tmp_path: Path) -> None:
    """A tombstone speaks of the past: the same words from before it are refused, later ones are not."""
    made = await learned(review, memory, "The user had knee surgery.", "t-1")
    await review.forget(made.id)
    stones = Forgotten(tmp_path / "forgotten.jsonl")
    assert stones.blocks(made.text, said_at=NOON - timedelta(days=1))
    assert stones.blocks("Something else entirely.", turns=["t-1"], said_at=NOON + timedelta(days=30))
    assert not stones.blocks(made.text, turns=["t-9"], said_at=NOON + timedelta(days=30))
    assert b"knee" not in (tmp_path / "forgotten.jsonl").read_bytes()


async def test_every_change_names_the_door(review: Review, tmp_path: Path) -> None:
    """The journal says who did what: that is what an explanation and a rebuild go by."""
    made = await review.add("Robin plays the cello.")
    await review.forget(made.id)
    entries = [record for _, record in Journal(tmp_path / "journal.jsonl").read() if isinstance(record, Entry)]
    assert [(each.by, each.changes[0].verb) for each in entries] == [("test", "add"), ("test", "forget")]
