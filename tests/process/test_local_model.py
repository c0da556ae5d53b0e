"""The embedded model: real weights, real llama.cpp, in a process that dies with its parent."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import aclosing
from pathlib import Path

import pytest

from haru.errors import ModelUnreachable
from haru.llm.local import LocalModel
from haru.ports import Message

pytestmark = pytest.mark.local

ASK = [Message(role="user", content="Name a color.")]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2]


def children() -> set[int]:
    """Process numbers of this process's children."""
    found = subprocess.run(["pgrep", "-P", str(os.getpid())], capture_output=True, text=True, check=False)
    return {int(each) for each in found.stdout.split()}


async def test_it_talks_and_goes() -> None:
    """Streams, gives JSON by a schema, and leaves no process behind."""
    before = children()
    model = LocalModel()
    reply = "".join([piece async for piece in model.stream(ASK, max_tokens=12)])
    assert reply.strip()
    async with aclosing(model.stream(ASK, max_tokens=200)) as pieces:
        async for _ in pieces:
            break
    schema = {"type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]}
    assert '"color"' in (await model.complete(ASK, schema=schema, max_tokens=40)).text
    started = {pid for pid in children() - before if alive(pid)}
    assert started
    await model.aclose()
    await model.aclose()
    assert not any(alive(pid) for pid in started)


async def test_it_dies_with_its_parent() -> None:
    """Also where the parent had no time to say farewell."""
    code = """
import asyncio
from haru.llm.local import LocalModel
async def main():
    model = LocalModel()
    await model.start()
    print(model._process.pid, flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout
    child = int(await asyncio.to_thread(parent.stdout.readline))
    assert alive(child)
    parent.send_signal(signal.SIGKILL)
    parent.communicate()
    for _ in range(100):
        if not alive(child):
            return
        await asyncio.sleep(0.1)
    pytest.fail("the model's process outlived its parent")


def test_a_file_that_is_no_model(tmp_path: Path) -> None:
    """Named, before anything is started."""
    (tmp_path / "x.gguf").write_bytes(b"not a model")
    with pytest.raises(ModelUnreachable, match="not a GGUF"):
        LocalModel(tmp_path / "x.gguf")
    with pytest.raises(ModelUnreachable, match="cannot be read"):
        LocalModel(tmp_path / "none.gguf")


async def test_a_damaged_model_says_so(tmp_path: Path) -> None:
    """And no process stays."""
    (tmp_path / "x.gguf").write_bytes(b"GGUF" + b"\x00" * 100)
    model = LocalModel(tmp_path / "x.gguf")
    with pytest.raises(ModelUnreachable, match="did not start"):
        await model.start()
    await model.aclose()
