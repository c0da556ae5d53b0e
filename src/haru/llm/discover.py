"""Discover: model services that run on this machine, to be offered, never taken unasked."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx
from pydantic import BaseModel, ValidationError

from haru.memory import Record

PORTS = {"Ollama": 11434, "llama.cpp": 8080, "LM Studio": 1234, "vLLM": 8000}
"""Usual ports, by service."""


class Found(Record):
    """A service that lists models."""

    service: str
    url: str
    models: tuple[str, ...]


class _Model(BaseModel):
    id: str


class _Models(BaseModel):
    data: list[_Model]


async def discover(ports: Mapping[str, int] = PORTS, *, timeout_s: float = 0.3) -> list[Found]:
    """Services on this machine that answer like an OpenAI-compatible one with at least one model."""
    async with httpx.AsyncClient(timeout=timeout_s, trust_env=False) as client:
        answers = await asyncio.gather(*(_ask(client, name, port, timeout_s) for name, port in ports.items()))
    return [found for found in answers if found]


async def _ask(client: httpx.AsyncClient, service: str, port: int, timeout_s: float) -> Found | None:
    url = f"http://127.0.0.1:{port}/v1"
    try:
        async with asyncio.timeout(2 * timeout_s):
            answer: Any = (await client.get(f"{url}/models")).json()
        models = _Models.model_validate(answer).data
    except (httpx.HTTPError, ValueError, ValidationError, TimeoutError, RecursionError):
        return None
    return Found(service=service, url=url, models=tuple(model.id for model in models)) if models else None
