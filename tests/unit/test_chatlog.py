from __future__ import annotations

import asyncio
import fcntl
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haru.chatlog import (
    ChatLog,
    ChatLogReader,
    Finding,
    Place,
    Problem,
    SessionEnd,
    SessionStart,
    Turn,
    new_session_id,
    parse,
    read_turn,
)
from haru.errors import RecordError
from haru.lines import Line
from haru.receipt import Receipt

AT = datetime(2026, 12, 1, 23, 59, 30, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now = AT

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def log(tmp_path: Path, clock: Clock) -> AsyncIterator[ChatLog]:
    opened = ChatLog(tmp_path, now=clock)
    yield opened
    await opened.aclose()


def turn(said: str, at: datetime = AT, session: str = "s-1") -> Turn:
    return Turn(session=session, at=at, said=said)


def said(reader: ChatLogReader) -> list[str]:
    return [record.said for _, record in reader.poll() if isinstance(record, Turn)]


async def test_every_kind_of_record_comes_back_whole(log: ChatLog, tmp_path: Path) -> None:
    """With receipt, findings, and the person's own zone."""
    local = datetime.fromisoformat("2026-12-01T18:00:00-07:00")
    receipt = Receipt(budget_ms=250, elapsed_ms=1.5, waited_ms=1.0, outcome="none", query="dog")
    records = [
        SessionStart(session="s-1", at=AT, door="chat"),
        Turn(
            session="s-1", at=local, said="hello", reply="Hi there", spoken="Hi", interrupted=True, receipt=receipt,
            findings=(Finding(tool="web", query="pool", text="Opens at 7."),), addressed=False, mark="echo",
        ),
        SessionEnd(session="s-1", at=AT, reason="idle"),
    ]  # fmt: skip
    for record in records:
        await log.append(record)
    read = [record for _, record in ChatLogReader(tmp_path).poll()]
    assert read == records
    assert isinstance(read[1], Turn)
    assert read[1].at.utcoffset() == timedelta(hours=-7)
    assert read[1].heard_reply == "Hi"


@pytest.mark.parametrize(
    "text",
    ["the recipe says\u2028step two", "old text\u0085from a scanner", "para\u2029graph", "form\ffeed and \v tab",
     "carriage\rreturn", "new\nline", "\x00\x1b[31m", "Œdipe 🐶 用户"],
)  # fmt: skip
async def test_any_text_is_one_turn(log: ChatLog, tmp_path: Path, text: str) -> None:
    """A function that splits at rare line signs once made whole sessions unreadable."""
    await log.append(turn(text))
    await log.append(turn("my dog is called Biscuit"))
    assert said(ChatLogReader(tmp_path)) == [text, "my dog is called Biscuit"]


async def test_half_a_letter_does_not_stop_the_log(log: ChatLog, tmp_path: Path) -> None:
    """A recogniser's lone surrogate has no form in UTF-8."""
    await log.append(turn("cat Mochi \ud83d"))
    assert said(ChatLogReader(tmp_path)) == ["cat Mochi \ufffd"]


async def test_a_reader_follows_over_midnight_and_back(log: ChatLog, tmp_path: Path, clock: Clock) -> None:
    """A new day, and a clock that is set back by days: each turn is read once."""
    reader = ChatLogReader(tmp_path)
    await log.append(turn("before midnight"))
    assert said(reader) == ["before midnight"]
    clock.now += timedelta(minutes=1)
    await log.append(turn("after midnight"))
    clock.now -= timedelta(days=3)
    await log.append(turn("clock set back"))
    clock.now += timedelta(days=3)
    await log.append(turn("and forth"))
    assert sorted(said(reader)) == sorted(["after midnight", "clock set back", "and forth"])
    assert said(reader) == []
    assert len(list(tmp_path.glob("chat-*.jsonl"))) == 3


async def test_bad_lines_are_passed_over_and_reported(log: ChatLog, tmp_path: Path) -> None:
    """One report a line, naming file and byte, and none of its words."""
    await log.append(turn("one"))
    (path,) = tmp_path.glob("chat-*.jsonl")
    with path.open("ab") as file:
        file.write(
            b'\xff\xfe broken\n{not json}\n{"kind": "future", "secret": "knee"}\n{"kind": "turn", "said": "knee"}\n'
        )
    await log.append(turn("two"))
    read = [record for _, record in ChatLogReader(tmp_path).poll()]
    problems = [record for record in read if isinstance(record, Problem)]
    assert [record.said for record in read if isinstance(record, Turn)] == ["one", "two"]
    assert len(problems) == 4
    told = " ".join(str(problem) for problem in problems)
    assert path.name in told
    assert "UTF-8" in told
    assert "does not know" in told
    assert "knee" not in told


async def test_a_cut_or_replaced_file_is_read_anew(log: ChatLog, tmp_path: Path) -> None:
    """What was read comes again, so that nothing new is hidden; who reads knows turns by their ids."""
    reader = ChatLogReader(tmp_path)
    for text in ("one", "two", "three"):
        await log.append(turn(text))
    assert said(reader) == ["one", "two", "three"]
    (path,) = tmp_path.glob("chat-*.jsonl")
    first_line = path.read_bytes().split(b"\n")[0] + b"\n"
    path.write_bytes(first_line)
    assert said(reader) == ["one"]
    replaced = tmp_path / "new"
    replaced.write_bytes(first_line)
    replaced.replace(path)
    await log.append(turn("four"))
    assert "four" in said(reader)


async def test_a_turn_is_found_again_by_its_place(log: ChatLog, tmp_path: Path) -> None:
    """Or not, where it is gone."""
    await log.append(turn("one"))
    await log.append(turn("two"))
    places = [place for place, _ in ChatLogReader(tmp_path).poll()]
    found = read_turn(tmp_path, places[1])
    assert found is not None
    assert found.said == "two"
    assert read_turn(tmp_path, Place("chat-2000-01-01.jsonl", 0, 10)) is None


async def test_a_log_that_cannot_be_written_keeps_order(tmp_path: Path, clock: Clock) -> None:
    """What waited is written first, once, in the order it was said."""
    folder = tmp_path / "log"
    folder.write_text("in the way")
    log = ChatLog(folder, now=clock)
    for text in ("one", "two"):
        with pytest.raises(Exception, match="cannot write"):
            await log.append(turn(text))
    assert log.backlog == 2
    assert "cannot write" in log.problem
    folder.unlink()
    await log.append(turn("three"))
    assert (log.backlog, log.problem) == (0, "")
    assert said(ChatLogReader(folder)) == ["one", "two", "three"]
    await log.aclose()


async def test_the_last_try_is_made_at_the_end(tmp_path: Path, clock: Clock) -> None:
    """Room that came late is still used."""
    folder = tmp_path / "log"
    folder.write_text("in the way")
    log = ChatLog(folder, now=clock)
    with pytest.raises(Exception, match="cannot write"):
        await log.append(turn("one"))
    folder.unlink()
    await log.aclose()
    assert said(ChatLogReader(folder)) == ["one"]


@given(st.text(max_size=100))
def test_session_ids_are_safe_whatever_a_client_sends(text: str) -> None:
    """No path, no control sign, no endless one."""
    made = turn("x", session=text).session
    assert 0 < len(made) <= 64
    assert all(sign.isascii() and (sign.isalnum() or sign in "-_") for sign in made)


def test_fresh_ids_differ() -> None:
    """And need no cleaning."""
    made = {new_session_id() for _ in range(100)}
    assert len(made) == 100
    assert all(turn("x", session=each).session == each for each in made)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_record_or_refused(data: bytes) -> None:
    """A reader of the log never falls over."""
    try:
        parse(Line(0, len(data) + 1, data))
    except RecordError:
        return


@given(st.data())
def test_a_damaged_turn_is_a_turn_or_refused(data: st.DataObject) -> None:
    """One byte changed anywhere."""
    body = bytearray(turn("my dog is called Biscuit").model_dump_json().encode())
    body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    try:
        parse(Line(0, len(body) + 1, bytes(body)))
    except RecordError:
        return


async def test_a_slow_disk_holds_up_no_loop(log: ChatLog, tmp_path: Path, ticker: Callable[[], float]) -> None:
    """Sound goes on playing while a write takes half a second."""
    await log.append(turn("one"))
    (path,) = tmp_path.glob("chat-*.jsonl")
    with path.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        writing = asyncio.create_task(log.append(turn("two")))
        await asyncio.sleep(0.5)
        assert not writing.done()
        fcntl.flock(held, fcntl.LOCK_UN)
    await writing
    assert said(ChatLogReader(tmp_path)) == ["one", "two"]
    assert ticker() < 0.4
