"""`haru chat` and `haru up` as real processes, with a real model service on this machine."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .chat_service import SLOWLY, chat_service

PATIENCE_S = 30.0


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    """The model service's address."""
    with chat_service() as url:
        yield url


class Terminal:
    """The command line in processes of its own, over one home folder."""

    def __init__(self, home: Path, url: str) -> None:
        self.home = home
        kept = {key: value for key, value in os.environ.items() if not key.startswith("HARU_")}
        self.variables = {
            **kept,
            "HARU_HOME": str(home),
            "HARU_EMBED__MODEL": "static",
            "HARU_LLM__URL": url,
            "HARU_LLM__MODEL": "parrot",
            "HARU_WRITER__EXTRACTOR": "rules",
            "HARU_WRITER__QUIET_S": "0",
            "HARU_WRITER__POLL_S": "0.2",
            "XDG_CONFIG_HOME": str(home / "no-config"),
            "COLUMNS": "200",
        }

    def start(self, *words: str, **variables: str) -> subprocess.Popen[str]:
        """Begin a command."""
        return subprocess.Popen(
            [sys.executable, "-m", "haru.app.cli", *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**self.variables, "PYTHONUNBUFFERED": "1", **variables}, cwd=self.home.parent,
        )  # fmt: skip

    def run(self, *words: str, typed: str = "", **variables: str) -> tuple[int, str]:
        """Run a command to its end."""
        process = self.start(*words, **variables)
        out, _ = process.communicate(typed, timeout=PATIENCE_S)
        return process.returncode, out

    def memories(self) -> list[str]:
        """The sentences that are remembered."""
        return [each["text"] for each in json.loads(self.run("memory", "list", "--json")[1])]

    def turns(self) -> list[dict[str, Any]]:
        """The turns in the log."""
        lines = [line for file in sorted((self.home / "log").glob("*")) for line in file.read_text().splitlines()]
        records = [json.loads(line) for line in lines]
        return [record for record in records if record["kind"] == "turn"]


@pytest.fixture
def haru(tmp_path: Path, service: str) -> Terminal:
    """The command line with an empty home."""
    return Terminal(tmp_path / "home", service)


def until(reached: Callable[[], bool]) -> None:
    """Wait for something to be so."""
    ends_at = time.monotonic() + PATIENCE_S
    while not reached():
        assert time.monotonic() < ends_at, "it did not come about"
        time.sleep(0.05)


def read_until(process: subprocess.Popen[str], words: str) -> str:
    """Read what a process prints until some words have come."""
    assert process.stdout
    seen = ""
    while words not in seen:
        piece = process.stdout.read(1)
        assert piece, f"it ended before it said {words!r}: {seen}"
        seen += piece
    return seen


def say(process: subprocess.Popen[str], words: str) -> None:
    """Type a line."""
    assert process.stdin
    process.stdin.write(f"{words}\n")
    process.stdin.flush()


def test_what_is_told_today_is_known_in_the_next_conversation(haru: Terminal) -> None:
    """A conversation, the writer, another conversation: the memory is in the prompt, and /why says how it got there."""
    code, _ = haru.run("chat", typed="We live in Boise.\n")
    assert code == 0
    assert haru.run("writer", "--once")[0] == 0
    code, out = haru.run("chat", typed="Where do we live?\n/why\n/memories\n/quit\nnever read\n")
    assert code == 0
    assert "I know 1 things" in out
    assert "The user lives in Boise." in out
    assert "of at most 250" in out
    told, asked = haru.turns()
    assert told["receipt"]["recalled"] == []
    assert [each["source"] for each in asked["receipt"]["recalled"]] == ["search"]


def test_small_talk_brings_up_nothing(haru: Terminal) -> None:
    """A greeting gets a reply, and no memory with it."""
    haru.run("memory", "add", "The user lives in Boise.")
    out = haru.run("chat", typed="Good morning!\n/why\n")[1]
    assert "I know 0 things" in out
    assert "Small talk" in out


def test_forgetting_in_the_chat_reaches_every_file(haru: Terminal) -> None:
    """/forget by words asks, forgets, and begins a new session; no file holds the words afterwards."""
    haru.run("chat", typed="We live in Boise.\n")
    haru.run("writer", "--once")
    out = haru.run("chat", typed="Where do we live?\n/forget boise\nyes\nWhere do we live?\n")[1]
    assert "Forgotten." in out
    assert out.rstrip().endswith("I know 0 things:  That is all.")
    assert haru.memories() == []
    assert [path for path in haru.home.rglob("*") if path.is_file() and b"boise" in path.read_bytes().lower()] == []


def test_forgetting_beside_a_conversation_leaves_nothing_either(haru: Terminal) -> None:
    """While a conversation has the index open, another process forgets: no file holds the words from then on."""
    made = json.loads(haru.run("memory", "add", "The user lives in Boise.", "--json")[1])
    process = haru.start("chat")
    say(process, "Where do we live?")
    read_until(process, "That is all.")
    until(lambda: len(haru.turns()) == 1)
    assert haru.run("memory", "forget", made["id"], "--yes")[0] == 0
    assert [path for path in haru.home.rglob("*") if path.is_file() and b"boise" in path.read_bytes().lower()] == []
    process.communicate("", timeout=PATIENCE_S)


def test_a_service_that_is_down_costs_the_reply_not_the_turn(haru: Terminal) -> None:
    """The failure is said in a line, what was said is logged all the same, and a script sees it in the exit code."""
    code, out = haru.run("chat", typed="We live in Boise.\n", HARU_LLM__URL="http://127.0.0.1:9/v1")
    assert code == 1
    assert "no answer from 127.0.0.1:9" in out
    assert "Traceback" not in out
    assert [turn["said"] for turn in haru.turns()] == ["We live in Boise."]


def test_a_damaged_index_costs_the_memories_not_the_conversation(haru: Terminal) -> None:
    """Haru talks on, says what is wrong and what mends it, and the turn is logged with the reason."""
    haru.home.mkdir(mode=0o700)
    (haru.home / "index.db").write_bytes(b"rubbish " * 1000)
    code, out = haru.run("chat", typed="Where do we live?\n")
    assert code == 0
    assert "I know 0 things" in out
    assert "talking without memories for now" in out
    assert "haru rebuild" in out
    assert haru.turns()[0]["receipt"]["problem"] == "index-refused"


def test_an_interrupt_stops_the_reply_alone(haru: Terminal) -> None:
    """Ctrl-C while Haru speaks cuts the reply off; what was heard of it is logged, and the conversation goes on."""
    process = haru.start("chat")
    say(process, f"Tell me {SLOWLY} about the harbour.")
    read_until(process, "I know")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate("And about the pool?\n", timeout=PATIENCE_S)
    assert process.returncode == 0
    assert "That is all." in out
    cut, whole = haru.turns()
    assert cut["interrupted"]
    assert "That is all." not in cut["spoken"]
    assert not whole["interrupted"]


def test_an_order_to_end_lets_the_turn_in_hand_finish(haru: Terminal) -> None:
    """SIGTERM in the middle of a reply: the reply is said to its end and logged before the process goes."""
    process = haru.start("chat")
    say(process, f"Tell me {SLOWLY} about the harbour.")
    read_until(process, "I know")
    process.terminate()
    assert process.stdout
    assert "That is all." in process.stdout.read()
    assert process.wait(PATIENCE_S) == 0
    assert [turn["interrupted"] for turn in haru.turns()] == [False]
    assert process.stdin
    process.stdin.close()
    process.stdout.close()


def test_up_remembers_what_was_said_last(haru: Terminal) -> None:
    """With the writer beside the conversation, all that was said is remembered when both have ended."""
    code, out = haru.run("up", typed="We live in Boise.\n")
    assert (code, "Traceback" in out) == (0, False)
    assert haru.memories() == ["The user lives in Boise."]


def test_a_writer_that_dies_is_noticed_and_started_again(haru: Terminal) -> None:
    """The conversation says so and goes on; the next writer does the work."""
    process = haru.start("up")
    say(process, "Good morning!")
    read_until(process, "That is all.")
    until(lambda: bool(children(process.pid)))
    os.kill(children(process.pid)[0], signal.SIGKILL)
    read_until(process, "The writer ended (code -9)")
    say(process, "We live in Boise.")
    until(lambda: haru.memories() == ["The user lives in Boise."])
    process.communicate("", timeout=PATIENCE_S)
    assert process.returncode == 0


def test_the_writer_does_not_outlive_the_conversation(haru: Terminal) -> None:
    """However `haru up` ends, its writer ends too."""
    process = haru.start("up")
    say(process, "Good morning!")
    read_until(process, "That is all.")
    [writer] = children(process.pid)
    process.kill()
    process.communicate()
    until(lambda: not Path(f"/proc/{writer}").exists())


def test_files_are_for_their_owner_alone(haru: Terminal) -> None:
    """Whatever the umask was, no file or folder under home can be opened by others."""
    haru.run("chat", typed="We live in Boise.\n")
    haru.run("writer", "--once")
    haru.run("rebuild", "--yes")
    loose = [path for path in (haru.home, *haru.home.rglob("*")) if path.stat().st_mode & 0o077]
    assert loose == []


def children(pid: int) -> list[int]:
    """Processes that a process started."""
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_at_a_real_terminal(haru: Terminal) -> None:
    """A person gets a prompt, a reply and a prompt again; Ctrl-C at the prompt ends with the session closed."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "haru.app.cli", "chat"],
        stdin=theirs, stdout=theirs, stderr=theirs, env=haru.variables, cwd=haru.home.parent, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    seen = b""
    while seen.count(b"You:") < 2:
        seen += os.read(ours, 1024)
        if seen.count(b"You:") == 1 and b"Good" not in seen:
            os.write(ours, b"Good morning!\n")
    assert b"That is all." in seen
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE_S) == 0
    os.close(ours)
    last = (next((haru.home / "log").iterdir())).read_text().splitlines()[-1]
    assert json.loads(last)["kind"] == "session-end"
