from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from haru.errors import LogUnwritable, RecordError
from haru.lines import Line, LineFile, decode

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
quick = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def record(text: str) -> bytes:
    return json.dumps({"text": text}, ensure_ascii=False).encode()


def read(file: LineFile) -> list[str]:
    """Texts of the readable records."""
    found: list[str] = []
    for line in file.read():
        try:
            found.append(str(decode(line)["text"]))
        except (RecordError, KeyError):
            continue
    return found


@quick
@given(st.lists(texts, max_size=8))
def test_what_is_appended_is_read(tmp_path: Path, said: list[str]) -> None:
    """Letter for letter, whatever line signs stand inside: only the line end ends a record."""
    file = LineFile(tmp_path / "a.jsonl", sync=False)
    file.path.unlink(missing_ok=True)
    for text in said:
        file.append([record(text)])
    assert (read(file) if said else []) == said


@quick
@given(st.binary(max_size=60), texts)
def test_a_torn_tail_costs_at_most_itself(tmp_path: Path, torn: bytes, text: str) -> None:
    """Whatever a crash left behind, the next record stands on a line of its own and the earlier ones stay."""
    file = LineFile(tmp_path / "a.jsonl", sync=False)
    file.path.write_bytes(record("one") + b"\n" + record("two") + b"\n" + torn.replace(b"\n", b" "))
    file.append([record(text)])
    found = read(file)
    assert found[:2] == ["one", "two"]
    assert found[-1] == text


@pytest.mark.parametrize(
    ("tail", "readable"),
    [
        (b'{"text": "my sis', 3),
        ('{"text": "wait…'.encode()[:-1], 3),
        (b'{"text": "complete"}', 4),
        (b"\x00" * 4096, 3),
    ],
)
def test_the_tails_that_crashes_leave(tmp_path: Path, tail: bytes, readable: int) -> None:
    """Half a record, half a letter, a whole record without its end, and a page of zeros."""
    file = LineFile(tmp_path / "a.jsonl")
    file.path.write_bytes(record("one") + b"\n" + record("two") + b"\n" + tail)
    assert len(read(file)) == 2, "an unfinished line is waited for"
    file.append([record("we named the cat Mochi")])
    assert len(read(file)) == readable
    assert read(file)[-1] == "we named the cat Mochi"


@quick
@given(st.lists(texts, min_size=1, max_size=6), st.integers(0, 200))
def test_reading_goes_on_where_it_stopped(tmp_path: Path, said: list[str], cut: int) -> None:
    """A reader that follows a growing file sees each record once, wherever the file ended when it looked."""
    body = b"".join(record(text) + b"\n" for text in said)
    path = tmp_path / "a.jsonl"
    path.write_bytes(body[:cut])
    first = list(LineFile(path).read())
    path.write_bytes(body)
    rest = list(LineFile(path).read(first[-1].end if first else 0))
    assert [line.data for line in (*first, *rest)] == [record(text) for text in said]
    assert all(body[line.start : line.end - 1] == line.data for line in (*first, *rest))


def test_a_line_of_endless_length_is_passed_over(tmp_path: Path) -> None:
    """Damage may lack line ends for gigabytes: memory stays flat, and the next record is found."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"x" * (20 << 20) + b"\n" + record("after") + b"\n")
    file = LineFile(path)
    assert read(file) == ["after"]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "empty"),
        (b"\x00\x00", "empty"),
        (b"\xff\xfe", "UTF-8"),
        (b"{", "JSON"),
        (b"[1]", "object"),
        (b"[" * 99999, "JSON"),
    ],
)
def test_what_is_no_record_is_named(data: bytes, why: str) -> None:
    """The reason is told, the content is not."""
    with pytest.raises(RecordError, match=why):
        decode(Line(0, len(data) + 1, data))


def test_a_record_may_hold_no_line_end(tmp_path: Path) -> None:
    """It would come back as two."""
    with pytest.raises(RecordError, match="line end"):
        LineFile(tmp_path / "a.jsonl").append([b"one\ntwo"])


def test_overwriting_keeps_the_length_and_the_neighbors(tmp_path: Path) -> None:
    """Positions that others remember stay right, and the old words are gone from the bytes."""
    file = LineFile(tmp_path / "a.jsonl")
    file.append([record("one"), record("a secret about a knee"), record("three")])
    lines = list(file.read())
    file.overwrite(lines[1], record(""))
    assert read(file) == ["one", "", "three"]
    assert [line.start for line in file.read()] == [line.start for line in lines]
    assert b"knee" not in file.path.read_bytes()


def test_overwriting_something_else_is_refused(tmp_path: Path) -> None:
    """A line that changed meanwhile, or words that do not fit."""
    file = LineFile(tmp_path / "a.jsonl")
    file.append([record("one"), record("two")])
    first, second = file.read()
    with pytest.raises(RecordError, match="fit"):
        file.overwrite(first, record("much longer than it was"))
    file.overwrite(second, record("2"))
    with pytest.raises(RecordError, match="changed"):
        file.overwrite(second, record("3"))


def test_files_are_private(tmp_path: Path) -> None:
    """What people say at home is for its owner's eyes."""
    file = LineFile(tmp_path / "folder" / "a.jsonl")
    file.append([record("one")])
    assert file.path.stat().st_mode & 0o777 == 0o600
    assert file.path.parent.stat().st_mode & 0o077 == 0


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """With the remedy."""
    (tmp_path / "in the way").write_text("")
    with pytest.raises(LogUnwritable, match="make it writable"):
        LineFile(tmp_path / "in the way" / "a.jsonl").append([record("one")])
