"""Calls: requests to the hosted search API over one pool of connections, and what each answer means."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx

from haru.errors import IndexBusy, IndexFailure, IndexRefused, IndexUnavailable, SettingsError

MOST_BYTES = 64 * 2**20
"""A longer answer is refused."""
_TIMEOUT_S = 30.0
_TRIES = 4
_LONGEST_WAIT_S = 120.0
_USUAL_WAIT_S = 1.0
_BETWEEN_TRIES_S = 0.2
_KEPT_OPEN_S = 120.0


class NotThere(IndexRefused):
    """The service has no such thing (404)."""


class Calls:
    """A service and the key to it.

    Args:
        url: base address, without a path.
        key: sent with every request and never shown.

    Raises:
        SettingsError: the address or the key cannot be one.
    """

    def __init__(self, url: str, key: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise SettingsError(f"index.url must be an address like https://api.relevan.dev, not {url!r}")
        if not key or not (key.isascii() and key.isprintable()):
            raise SettingsError("index.key is not set, or holds characters that no key has. Copy it again")
        self.host = parts.netloc.rpartition("@")[2]
        loopback = parts.hostname in {"127.0.0.1", "localhost", "::1"}
        self._client = httpx.AsyncClient(
            base_url=url.rstrip("/"),
            headers={"x-api-key": key, "accept": "application/json"},
            timeout=httpx.Timeout(_TIMEOUT_S),
            limits=httpx.Limits(max_connections=20, keepalive_expiry=_KEPT_OPEN_S),
            trust_env=not loopback,
        )

    async def now(self, method: str, path: str, body: object = None) -> Any:
        """One try, for the hot path: who is asked to wait must fall back at once.

        Raises:
            IndexBusy: the service asks to wait.
            IndexUnavailable: no sound answer.
            IndexRefused: the same call would be refused again.
        """
        return await self._once(method, path, body, {})

    async def patiently(
        self, method: str, path: str, body: object = None, parameters: Mapping[str, str | int] | None = None
    ) -> Any:
        """Tried again where the service asks to wait, as long as it asks for, or cannot be reached. Else as `now`.

        Every write is an upsert or a removal by id, so that a second try changes nothing.
        """
        for left in reversed(range(_TRIES)):
            try:
                return await self._once(method, path, body, parameters or {})
            except IndexBusy as error:
                wait_s = _USUAL_WAIT_S if error.retry_after_s is None else error.retry_after_s
                if not left:
                    raise
            except IndexUnavailable:
                wait_s = _BETWEEN_TRIES_S * 2 ** (_TRIES - left)
                if not left:
                    raise
            await asyncio.sleep(min(wait_s, _LONGEST_WAIT_S))
        raise AssertionError  # pragma: no cover - the last try returns or raises

    async def aclose(self) -> None:
        """Let go of the connections."""
        await self._client.aclose()

    async def _once(self, method: str, path: str, body: object, parameters: Mapping[str, str | int]) -> Any:
        call = f"{method} {path} at {self.host}"
        data = None if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        headers = {} if data is None else {"content-type": "application/json"}
        try:
            async with (
                asyncio.timeout(_TIMEOUT_S),  # a limit on silence is never reached by a byte now and then
                self._client.stream(method, path, content=data, headers=headers, params=parameters) as answer,
            ):
                read = bytearray()
                async for piece in answer.aiter_bytes():
                    read += piece
                    if len(read) > MOST_BYTES:
                        raise IndexRefused(f"{call}: the answer is longer than {MOST_BYTES // 2**20} MB")
        except TimeoutError:
            raise IndexUnavailable(f"{call}: no answer in {_TIMEOUT_S:.0f} s. It is tried again later") from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            raise IndexUnavailable(
                f"{call}: no answer ({type(error).__name__}). Is the service running? Check index.url"
            ) from None
        if answer.status_code >= 300:
            raise failure(call, answer.status_code, bytes(read), answer.headers)
        try:
            return json.loads(read) if read else None
        except (ValueError, RecursionError):
            raise IndexUnavailable(f"{call}: the answer is no JSON. Is something else at that address?") from None


def failure(call: str, status: int, body: bytes, headers: Mapping[str, str]) -> IndexFailure:
    """The error that an answer stands for: which call, which status, what to do. Never the service's words.

    They may hold what somebody said at home.
    """
    if status == 401:
        return IndexRefused(f"{call}: the key is refused (401). Check index.key")
    if status == 403:
        return IndexRefused(f"{call}: this key may not do that (403). A write key is needed, of this organisation")
    if status == 404:
        return NotThere(f"{call}: there is no such thing (404). Check index.organisation and index.name")
    if status == 429:
        return IndexBusy(f"{call}: asked to wait (429)", _wait_s(body, headers))
    if status >= 500 or status == 408:
        return IndexUnavailable(f"{call}: the service failed ({status}). It is tried again later")
    return IndexRefused(f"{call}: refused ({status}). Is this the service's contract? Check index.url")


def _wait_s(body: bytes, headers: Mapping[str, str]) -> float | None:
    """Seconds by the ``retry-after`` header, else by the body; ``None`` where neither tells."""
    told = headers.get("retry-after", "").strip()
    if told.isdigit() and len(told) < 10:
        return float(told)
    try:
        seconds = float(json.loads(body)["retryAfterSeconds"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return seconds if 0 <= seconds < 1e9 else None
