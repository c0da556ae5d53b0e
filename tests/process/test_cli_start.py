"""How the command line starts and how it fails, as a real process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import pytest

MOST_START_S = 1.5
"""Far above what it takes; this catches a heavy import, not a busy machine."""


def run(home: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run ``haru`` in a process of its own."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("HARU_")}
    return subprocess.run(
        [sys.executable, "-m", "haru.app.cli", *words],
        capture_output=True, text=True, check=False, cwd=home,
        env={**kept, "HARU_HOME": str(home / "haru"), "HARU_EMBED__MODEL": "static", "COLUMNS": "200", **variables},
    )  # fmt: skip


def test_help_names_every_command_and_comes_at_once(tmp_path: Path) -> None:
    """The list of commands is whole, and is there before anybody gets impatient."""
    began = time.perf_counter()
    done = run(tmp_path, "--help")
    assert time.perf_counter() - began < MOST_START_S
    for name in ("chat", "up", "writer", "memory", "log", "rebuild", "doctor", "settings", "demo", "bench"):
        assert name in done.stdout
    assert not (tmp_path / "haru").exists()


def test_the_version_is_the_installed_one(tmp_path: Path) -> None:
    """`haru --version` says what pip says."""
    assert run(tmp_path, "--version").stdout == f"haru {version('haru')}\n"


@pytest.mark.parametrize(
    ("words", "variables", "told"),
    [
        (("memory", "list"), {"HARU_INDEX__BACKEND": "redis"}, "'sqlite', 'relevan', 'postgres' or 'inprocess'"),
        (("memory", "show", "mem-none"), {}, "no memory has the id"),
        (("chat",), {"HARU_LLM__URL": "http://127.0.0.1:9/v1"}, "set llm.model too"),
        (("chat",), {"HARU_LLM__URL": "nonsense", "HARU_LLM__MODEL": "x"}, "llm.url must be an address"),
        (("memory", "list"), {"HARU_HOME": "/proc/haru"}, "cannot be made"),
        (("memory", "list"), {"HARU_EMBED__MODEL": "endpoint"}, "set embed.url and embed.name too"),
    ],
)
def test_an_error_is_one_clear_line(
    tmp_path: Path, words: tuple[str, ...], variables: dict[str, str], told: str
) -> None:
    """Exit code 2, the thing and the remedy on standard error, and no traceback."""
    done = run(tmp_path, *words, **variables)
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_wrong_option_is_a_usage_error(tmp_path: Path) -> None:
    """Code 2, and how to use the command."""
    done = run(tmp_path, "memory", "list", "--nonsense")
    assert done.returncode == 2
    assert "--nonsense" in done.stderr


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    """Output into `head` ends quietly."""
    run(tmp_path, "memory", "add", "Robin plays the cello.")
    code = f"{sys.executable} -m haru.app.cli memory export | head -c 1"
    kept = {**os.environ, "HARU_HOME": str(tmp_path / "haru"), "HARU_EMBED__MODEL": "static"}
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=False, env=kept, cwd=tmp_path)
    assert "Traceback" not in done.stderr


def test_following_the_log_shows_turns_as_they_come(tmp_path: Path) -> None:
    """`haru log follow` prints a turn that another process logs, and ends quietly at Ctrl-C."""
    folder = tmp_path / "haru" / "log"
    folder.mkdir(parents=True)
    kept = {**os.environ, "HARU_HOME": str(tmp_path / "haru"), "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "haru.app.cli", "log", "follow", "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=kept, cwd=tmp_path,
    )  # fmt: skip
    assert process.stdout
    file = folder / "chat-2026-12-01.jsonl"
    line = '{"kind":"turn","id":"t-%d","session":"s-1","at":"2026-12-01T12:00:00Z","said":"Hello."}\n'
    seen = ""
    for number in range(100):  # it may not have begun to follow when the first ones are written
        with file.open("a") as log:
            log.write(line % number)
        if number > 5:
            seen = process.stdout.readline()
            break
        time.sleep(0.3)
    assert '"said": "Hello."' in seen
    process.send_signal(2)
    _, errors = process.communicate(timeout=20)
    assert "Traceback" not in errors


def test_many_commands_at_once_on_a_new_home(tmp_path: Path) -> None:
    """Processes that all find nothing there and all make it: each succeeds, and nothing is lost."""
    kept = {**os.environ, "HARU_HOME": str(tmp_path / "haru"), "HARU_EMBED__MODEL": "static"}
    command = [sys.executable, "-m", "haru.app.cli", "memory"]
    processes = [
        subprocess.Popen([*command, "add", f"Fact number {number}."], stdout=subprocess.DEVNULL, env=kept, cwd=tmp_path)
        for number in range(6)
    ]
    assert [process.wait(60) for process in processes] == [0] * 6
    listed = json.loads(run(tmp_path, "memory", "list", "--json").stdout)
    assert sorted(each["text"] for each in listed) == [f"Fact number {number}." for number in range(6)]
