r"""LineFile: an append-only file of JSON lines that many processes may write and a reader may follow.

A record is appended with one write under a lock, so that two writers never cut into each other. A crash can
leave a torn last line; the next append closes it with a line end, so that it costs at most itself. A record is
only what ends in ``\n``: readers split on that byte alone, for JSON text may hold every other line sign.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from haru.errors import LogUnwritable, RecordError

_READ_BYTES = 1 << 20

MAX_LINE_BYTES = 8 << 20
"""A longer line is damage or an attack; it is passed over and reported."""


@dataclass(frozen=True, slots=True)
class Line:
    """One complete line and where it stands, in bytes; ``data`` is without its line end."""

    start: int
    end: int
    data: bytes


class LineFile:
    """One append-only file. Its methods block; call them off the event loop."""

    def __init__(self, path: Path, *, sync: bool = True) -> None:
        self.path = path
        self.sync = sync
        """Flush to the disk after each append, so that a power cut costs nothing that was acknowledged."""

    def append(self, lines: list[bytes]) -> int:
        """Write lines (given without line ends), all or none; returns where the first one starts.

        Raises:
            LogUnwritable: the disk is full or cannot be written; what stood there before still stands.
        """
        if any(b"\n" in line for line in lines):
            raise RecordError(f"a record for {self.path.name} holds a line end; encode it as JSON first")
        body = b"".join(line + b"\n" for line in lines)
        try:
            with self._opened() as fd:
                size = os.fstat(fd).st_size
                torn = size > 0 and os.pread(fd, 1, size - 1) != b"\n"
                self._write(fd, size, b"\n" + body if torn else body)
                return size + 1 if torn else size
        except OSError as error:
            raise LogUnwritable(
                f"cannot write {self.path}: {error.strerror}. Free some space or make it writable"
            ) from error

    def read(self, start: int = 0, end: int | None = None) -> Iterator[Line]:
        """Complete lines from byte ``start``; a last line without its end is left for later.

        Raises:
            FileNotFoundError: there is no such file (yet).
        """
        with self.path.open("rb") as file:
            file.seek(start)
            rest = b""
            at = start
            skipping = False
            while chunk := file.read(_READ_BYTES if end is None else min(_READ_BYTES, end - at - len(rest))):
                rest += chunk
                *whole, rest = rest.split(b"\n")
                for data in whole:
                    after = at + len(data) + 1
                    if not skipping:
                        yield Line(at, after, data)
                    skipping = False
                    at = after
                if len(rest) > MAX_LINE_BYTES:  # keep memory flat whatever stands in the file
                    if not skipping:
                        yield Line(at, at + len(rest), b"")
                    at += len(rest)
                    rest = b""
                    skipping = True

    def overwrite(self, line: Line, data: bytes) -> None:
        """Put other words in the place of one line, padded with spaces to the same length.

        Raises:
            RecordError: the line is no longer there, or the new words are longer.
            LogUnwritable: the disk cannot be written.
        """
        length = line.end - line.start - 1
        if len(data) > length or b"\n" in data:
            raise RecordError(f"the new words for a line of {self.path.name} do not fit in its place")
        try:
            with self._opened() as fd:
                if os.pread(fd, length, line.start) != line.data:
                    raise RecordError(f"{self.path.name} changed while one of its lines was being rewritten")
                os.pwrite(fd, data.ljust(length), line.start)
                os.fsync(fd)
        except OSError as error:
            raise LogUnwritable(f"cannot write {self.path}: {error.strerror}") from error

    @contextmanager
    def _opened(self) -> Generator[int]:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)  # released by the kernel when a process dies: nothing to clean up
            yield fd
        finally:
            os.close(fd)

    def _write(self, fd: int, size: int, body: bytes) -> None:
        done = 0
        try:
            while done < len(body):
                done += os.pwrite(fd, body[done:], size + done)
            if self.sync:
                os.fsync(fd)
        except OSError:
            # A full disk takes the first bytes and then refuses: leave no half record behind.
            os.ftruncate(fd, size)
            raise


def decode(line: Line) -> Mapping[str, object]:
    """The JSON object on a line.

    Raises:
        RecordError: it is not UTF-8, not JSON, or not an object; the message says which.
    """
    if not line.data.strip(b"\x00 \t\r"):
        raise RecordError("an empty, zero-filled or oversized line")
    try:
        value: object = json.loads(line.data.decode())
    except UnicodeDecodeError:
        raise RecordError("not UTF-8") from None
    except (ValueError, RecursionError):
        raise RecordError("not JSON") from None
    if not isinstance(value, dict):
        raise RecordError("not a JSON object")
    return cast("Mapping[str, object]", value)
