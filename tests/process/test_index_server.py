"""`haru index serve` and `haru index copy` as a person runs them; killed in the middle of a load."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx

from haru.index.relevan import RelevanIndex
from haru.memory import Memory

Make = Callable[..., Memory]
KEY = "a-key-for-this-test"


def haru(home: Path, *arguments: str, **variables: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "HARU_HOME": str(home), "HARU_EMBED__MODEL": "static", **variables}
    return subprocess.Popen(
        [sys.executable, "-m", "haru.app.cli", *arguments],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


async def up(port: int, key: str) -> None:
    """Wait until it answers."""
    async with httpx.AsyncClient(headers={"x-api-key": key}) as client:
        for _ in range(200):
            try:
                if (await client.get(f"http://127.0.0.1:{port}/v1/organizations")).status_code == 200:
                    return
            except httpx.HTTPError:
                pass
            await asyncio.sleep(0.1)
    raise AssertionError("the server did not come up")


async def test_killed_in_the_middle_of_a_load_nothing_accepted_is_lost(tmp_path: Path, memory: Make) -> None:
    """The client goes on when the server is back; counts agree."""
    port = free_port()
    made = [memory(f"The user keeps thing {n} in box {n % 7}.") for n in range(1200)]
    server = haru(tmp_path, "index", "serve", "--port", str(port), HARU_INDEX_SERVER_KEY=KEY)
    await up(port, KEY)
    client = RelevanIndex(f"http://127.0.0.1:{port}", KEY)

    async def load() -> None:
        for at in range(0, len(made), 100):
            await client.put(made[at : at + 100])

    loading = asyncio.create_task(load())
    await asyncio.sleep(1.0)
    server.send_signal(signal.SIGKILL)
    server.communicate()
    server = haru(tmp_path, "index", "serve", "--port", str(port), HARU_INDEX_SERVER_KEY=KEY)
    await up(port, KEY)
    try:
        await loading
    except Exception:  # noqa: BLE001 - it gave up while the server was away: the person calls it again
        await load()
    assert (await client.stats())["documentsIndexed"] == len(made)
    assert {each.id for each in await client.get([each.id for each in made])} == {each.id for each in made}
    await client.aclose()
    server.send_signal(signal.SIGINT)
    server.communicate(timeout=20)


async def test_without_a_key_it_makes_one_and_serves_this_machine_alone(tmp_path: Path) -> None:
    """In a file that the owner alone can read; beyond the machine it refuses to start."""
    port = free_port()
    server = haru(tmp_path, "index", "serve", "--port", str(port))
    file = tmp_path / "index-server.key"
    for _ in range(200):
        if file.exists() and file.read_text().strip():
            break
        await asyncio.sleep(0.1)
    await up(port, file.read_text().strip())
    assert file.stat().st_mode & 0o077 == 0
    server.send_signal(signal.SIGINT)
    server.communicate(timeout=20)
    _, told = haru(tmp_path, "index", "serve", "--port", str(port), "--host", "0.0.0.0").communicate(timeout=60)
    assert "HARU_INDEX_SERVER_KEY" in told


async def test_moving_to_a_server_is_one_command_and_one_setting(tmp_path: Path, memory: Make) -> None:
    """Then the memories come from there."""
    port = free_port()
    server = haru(tmp_path / "server", "index", "serve", "--port", str(port), HARU_INDEX_SERVER_KEY=KEY)
    await up(port, KEY)
    home = tmp_path / "home"
    there = {"HARU_INDEX__URL": f"http://127.0.0.1:{port}", "HARU_INDEX__KEY": KEY}
    remember = haru(home, "memory", "add", "The user's dog is called Biscuit.")
    remember.communicate(timeout=60)
    told, _ = haru(home, "index", "copy", "sqlite", "relevan", "--json", **there).communicate(timeout=60)
    copied = json.loads(told)
    assert (copied["same"], copied["written"]) == (True, 1)
    told, _ = haru(
        home, "memory", "search", "what's my dog called", "--json", HARU_INDEX__BACKEND="relevan", **there
    ).communicate(timeout=60)
    assert "Biscuit" in told
    told, _ = haru(home, "doctor", "--json", HARU_INDEX__BACKEND="relevan", **there).communicate(timeout=60)
    findings = {each["part"]: each for each in json.loads(told)}
    assert findings["index"]["verdict"] == "ok", findings["index"]
    assert KEY not in told
    server.send_signal(signal.SIGINT)
    server.communicate(timeout=20)
