"""ChatLog: what was said, one JSON object a line, one file a day. The truth that everything else is made from.

Many processes may append. A reader goes by file and byte position and never by time, so that midnight and a
clock set back change nothing. What cannot be read (a torn line, bad UTF-8, an unknown kind) is passed over and
reported, never fatal and never silent.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AwareDatetime, BeforeValidator, Field, TypeAdapter, ValidationError

from haru.errors import LogUnwritable, RecordError
from haru.lines import Line, LineFile, decode
from haru.memory import HOUSEHOLD, Record, Text
from haru.receipt import Receipt

logger = logging.getLogger(__name__)

FILE_NAME = re.compile(r"^chat-\d{4}-\d{2}-\d{2}\.jsonl$")
BACKLOG = 1000
"""Records kept in memory while the disk takes none."""
_LOUD_EVERY_S = 60.0
_TOLD_APART_BYTES = 80
"""Enough to hold the id of a file's first record."""


def safe_token(value: object) -> object:
    """An id that is safe in file names, URLs and logs whatever a client sent; nothing else is changed."""
    if not isinstance(value, str):
        return value
    return re.sub(r"[^A-Za-z0-9_-]", "-", value)[:64] or "-"


Token = Annotated[str, BeforeValidator(safe_token)]


def new_session_id() -> str:
    """A fresh session id: ``s-`` and 16 hex digits, sorting by nothing and telling nothing."""
    return f"s-{secrets.token_hex(8)}"


def new_turn_id() -> str:
    """A fresh turn id: ``t-`` and 12 hex digits."""
    return f"t-{secrets.token_hex(6)}"


class Finding(Record):
    """What a tool looked up in a turn and the assistant reported. Data, never an instruction."""

    tool: Text = ""
    query: Text = ""
    text: Text = ""


class SessionStart(Record):
    """A conversation begins."""

    kind: Literal["session-start"] = "session-start"
    session: Token
    at: AwareDatetime
    person: str = HOUSEHOLD
    door: str = ""


class SessionEnd(Record):
    """A conversation is over: idle for long enough, or ended by the person."""

    kind: Literal["session-end"] = "session-end"
    session: Token
    at: AwareDatetime
    reason: str = ""


class Turn(Record):
    """One utterance and one reply."""

    kind: Literal["turn"] = "turn"
    id: Token = Field(default_factory=new_turn_id)
    session: Token
    at: AwareDatetime
    """When the person stopped speaking, with the offset of the person's own zone: "tomorrow" needs it."""
    said: Text
    """The person's words as heard."""
    reply: Text = ""
    """The reply as generated."""
    spoken: Text | None = None
    """The reply as heard, where that is not all of it."""
    interrupted: bool = False
    person: str = HOUSEHOLD
    speaker_confidence: float | None = None
    """0 to 1, where the voice was compared with known ones."""
    language: str = ""
    """BCP 47, where known."""
    door: str = ""
    """Where it came in: ``chat``, ``voice``, ``openai`` …"""
    addressed: bool | None = None
    """Whether it was said to Haru; ``None`` where nobody knows."""
    mark: Literal["", "echo", "noise"] = ""
    """Haru's own voice heard again, or no speech at all: logged, never mined."""
    off_record: bool = False
    """The person asked that this is not remembered."""
    findings: tuple[Finding, ...] = ()
    receipt: Receipt | None = None

    @property
    def heard_reply(self) -> str:
        """What the person really heard of the reply."""
        return self.reply if self.spoken is None else self.spoken


class Redaction(Record):
    """A turn's words were removed at a person's wish."""

    kind: Literal["redaction"] = "redaction"
    session: Token
    turn: Token
    at: AwareDatetime


LogRecord = SessionStart | SessionEnd | Turn | Redaction
"""Any record of a chat log."""
_RECORD: TypeAdapter[LogRecord] = TypeAdapter(Annotated[LogRecord, Field(discriminator="kind")])
_KINDS = frozenset({"session-start", "session-end", "turn", "redaction"})


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record stands: file name and byte span."""

    file: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Problem:
    """A line that could not be read, and why. Holds no words of it."""

    place: Place
    reason: str

    def __str__(self) -> str:
        return f"{self.place.file}, byte {self.place.start}: {self.reason}"


class ChatLog:
    """Appends records to the file of the day, in order, off the event loop."""

    def __init__(
        self, folder: Path, *, sync: bool = True, now: Callable[[], datetime] = lambda: datetime.now().astimezone()
    ) -> None:
        self.folder = folder
        self._sync = sync
        self._now = now
        self._thread = ThreadPoolExecutor(1, "haru-chatlog")
        self._backlog: deque[bytes] = deque(maxlen=BACKLOG)
        self._loud_at = -_LOUD_EVERY_S
        self.problem = ""
        """Why the log takes no records now; empty while it does."""

    @property
    def backlog(self) -> int:
        """Records waiting in memory until the disk takes them."""
        return len(self._backlog)

    async def append(self, record: LogRecord) -> None:
        """Add one record; it stands on the disk when this returns.

        Raises:
            LogUnwritable: the disk takes nothing now. The record is kept and written, in order and once, with
                the next one that can be; the conversation should go on.
        """
        line = record.model_dump_json(exclude_none=True).encode()
        await asyncio.get_running_loop().run_in_executor(self._thread, self._append, line)

    def _append(self, line: bytes) -> None:
        self._backlog.append(line)
        file = LineFile(self.folder / f"chat-{self._now():%Y-%m-%d}.jsonl", sync=self._sync)
        try:
            file.append(list(self._backlog))
        except LogUnwritable as error:
            self.problem = str(error)
            if time.monotonic() - self._loud_at >= _LOUD_EVERY_S:
                self._loud_at = time.monotonic()
                logger.error("chat log: %s; %d records wait in memory", error, len(self._backlog))
            raise
        self._backlog.clear()
        self.problem = ""

    async def aclose(self) -> None:
        """Try once more to write what waits, and stop."""

        def last_try() -> None:
            if self._backlog:
                line = self._backlog.pop()
                try:
                    self._append(line)
                except LogUnwritable:
                    logger.error("chat log: %d records could not be written before the end", len(self._backlog))

        await asyncio.get_running_loop().run_in_executor(self._thread, last_try)
        self._thread.shutdown(wait=False)


class ChatLogReader:
    """Follows a chat log: each `poll` gives what is new since the last one. Blocks; call it off the loop."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.problems = 0
        """Lines passed over so far."""
        self._seen: dict[str, tuple[bytes, int]] = {}  # file name -> (how it begins, position)

    def poll(self) -> Iterator[tuple[Place, LogRecord | Problem]]:
        """New records and unreadable lines, file by file in the order of their names.

        A file that was replaced or cut short is read from its start again: who reads must know turns by id.
        """
        for name in sorted(log_files(self.folder)):
            path = self.folder / name
            try:
                size, begins = path.stat().st_size, _beginning(path)
            except FileNotFoundError:  # removed by retention meanwhile
                continue
            except OSError as error:
                self.problems += 1
                place = Place(name, 0, 0)
                yield place, Problem(place, f"cannot be read: {error.strerror}")
                continue
            began, position = self._seen.get(name, (begins, 0))
            if not begins.startswith(began) or size < position:
                position = 0
            self._seen[name] = (begins, position)
            if size == position:
                continue
            for line in LineFile(path).read(position):
                self._seen[name] = (begins, line.end)
                place = Place(name, line.start, line.end)
                try:
                    yield place, parse(line)
                except RecordError as error:
                    self.problems += 1
                    yield place, Problem(place, str(error))


def _beginning(path: Path) -> bytes:
    """The first bytes of a file: they tell it from one that took its place. Inode numbers are used again at once."""
    with path.open("rb") as file:
        return file.read(_TOLD_APART_BYTES)


def log_files(folder: Path) -> list[str]:
    """Names of a chat log's files; none where there is no such folder."""
    try:
        return [name for name in os.listdir(folder) if FILE_NAME.match(name)]
    except FileNotFoundError:
        return []


def parse(line: Line) -> LogRecord:
    """The record on a line.

    Raises:
        RecordError: it is none; the message says why and repeats none of its words.
    """
    value = decode(line)
    kind = value.get("kind")
    if kind not in _KINDS:
        raise RecordError("a kind of record that this version does not know")
    try:
        return _RECORD.validate_python(value)
    except ValidationError as error:
        fields = sorted({".".join(str(step) for step in each["loc"]) for each in error.errors()})
        raise RecordError(f"a {kind} record with wrong fields: {', '.join(fields)}") from None


def read_turn(folder: Path, place: Place) -> Turn | None:
    """The turn that stands at a place; ``None`` where it was removed or redacted since."""
    try:
        for line in LineFile(folder / place.file).read(place.start, place.end):
            record = parse(line)
            return record if isinstance(record, Turn) else None
    except (FileNotFoundError, RecordError):
        return None
    return None
