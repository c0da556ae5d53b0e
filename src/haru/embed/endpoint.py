"""EndpointEmbedder: vectors from any service that speaks OpenAI's ``/v1/embeddings``."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

import numpy as np

from haru.embed.unit import unit
from haru.errors import IndexUnavailable, SettingsError
from haru.ports import Reading

if TYPE_CHECKING:
    from openai import APIError, OpenAI

    from haru.ports import Vectors

BATCH = 32
"""Texts a request; some services take no more."""
MAX_CHARS = 2_000
"""A longer text is cut: small models refuse one that they cannot read to its end."""
_LARGEST = 1e30
_PROBE = "dog"
_NO_KEY = "none"
"""Sent where no key is set: the client insists on one, local services ignore it."""


class EndpointEmbedder:
    """Embeds through a service. Safe for several threads; `close` lets go of its connections.

    Args:
        url: base address, usually ending in ``/v1``.
        model: the model's name, as the service knows it.
        key: access key; never shown.
        query_prefix: put before questions, where the model wants it (``query: `` for e5).
        passage_prefix: put before memories.
        timeout_s: longest silence of the service that is put up with.

    Raises:
        SettingsError: the address or the key cannot be one.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key: str = "",
        query_prefix: str = "",
        passage_prefix: str = "",
        timeout_s: float = 10.0,
    ) -> None:
        if not (key.isascii() and key.isprintable()):
            raise SettingsError("The embedder's key holds characters that no key has. Copy it again.")
        self._service = f"The embedding service at {_host(url)}"
        self._url = url
        self._model = model
        self._key = key
        self._prefixes = {"query": query_prefix, "passage": passage_prefix}
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._opened: OpenAI | None = None
        self._dim: int | None = None

    @property
    def id(self) -> str:
        """Names the model."""
        return f"endpoint:{self._model}"

    @property
    def dim(self) -> int:
        """Length of a vector. The first call asks the service, and fails as `embed` does."""
        known = self._dim
        if known is None:
            known = self._dim = int(self._ask([_PROBE]).shape[1])
        return known

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> Vectors:
        """One row a text, shape (n, dim). A blank text is not sent; its row is zeros.

        Raises:
            IndexUnavailable: the service does not answer, refuses, or answers with something else than vectors. The
                message says which, and what to do.
        """
        rows = np.zeros((len(texts), self.dim), np.float32)
        spoken = [at for at, text in enumerate(texts) if text.strip()]
        for start in range(0, len(spoken), BATCH):
            batch = spoken[start : start + BATCH]
            found = self._ask([_sendable(self._prefixes[kind] + texts[at][:MAX_CHARS]) for at in batch])
            if found.shape[1] != self.dim:
                raise self._failure(
                    f"now gives vectors of length {found.shape[1]}, no longer {self.dim}: "
                    "another model runs there. Start Haru again."
                )
            rows[batch] = found
        return rows

    def read(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> list[Reading]:
        """Vectors of the texts; such services tell nothing of their parts."""
        return [Reading(row, np.zeros((0, len(row)), np.float32)) for row in self.embed(texts, kind)]

    def close(self) -> None:
        """Let go of connections. May be called twice."""
        with self._lock:
            client, self._opened = self._opened, None
        if client:
            client.close()

    def _ask(self, texts: list[str]) -> Vectors:
        """One request."""
        from openai import APIError

        try:
            ask = self._client().embeddings.with_raw_response.create
            reply = ask(model=self._model, input=texts, encoding_format="float")
            return _vectors(reply.http_response.content, len(texts))
        except APIError as error:
            # The service's own words are left out here and in the traceback: they may repeat the key or the texts.
            raise self._failure(self._trouble(error)) from None
        except ValueError:
            raise self._failure(
                f"did not answer with one sound vector a text. See whether {self._model!r} is an embedding model, "
                "and whether the address ends in /v1."
            ) from None

    def _client(self) -> OpenAI:
        from openai import OpenAI

        with self._lock:
            if self._opened is None:
                self._opened = OpenAI(
                    base_url=self._url, api_key=self._key or _NO_KEY, timeout=self._timeout_s, max_retries=0
                )
            return self._opened

    def _failure(self, trouble: str) -> IndexUnavailable:
        return IndexUnavailable(f"{self._service} {trouble}")

    def _trouble(self, error: APIError) -> str:
        """What went wrong and what to do, without a word of what was sent or answered."""
        from openai import APIConnectionError, APIStatusError, APITimeoutError

        if isinstance(error, APITimeoutError):
            return f"did not answer within {self._timeout_s:g} s. See whether it is busy, or allow it more time."
        if isinstance(error, APIConnectionError):
            return "cannot be reached. Start it, or correct its address."
        match error.status_code if isinstance(error, APIStatusError) else 0:
            case 401 | 403 as status:
                return f"refused the key (status {status}). Correct the key."
            case 404:
                return (
                    f"has no model {self._model!r}, or nothing is at that path (status 404). "
                    "Correct the model's name, or the address: it should end in /v1."
                )
            case 429:
                return "asks for a pause (status 429). Wait, or raise its limit."
            case status:
                return f"failed (status {status}). See what it logged."


def _host(url: str) -> str:
    """Host and port of an address, without the name and password that may stand before them."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port, parts = None, None, None
    if not host or not parts or parts.scheme not in {"http", "https"}:
        raise SettingsError("The embedder's address must look like http://localhost:8080/v1.")
    return f"{host}:{port}" if port else host


def _sendable(text: str) -> str:
    """The text without halves of characters, which no request can carry."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _vectors(reply: bytes, count: int) -> Vectors:
    """The vectors of a reply in the order of the texts, at unit length; `ValueError` where it is not such a reply."""
    try:
        data = json.loads(reply)["data"]
        by_index = {item["index"]: item["embedding"] for item in data}
        rows = np.array([by_index[at] for at in range(count)], np.float64)
        sound = len(data) == count and rows.ndim == 2 and rows.shape[1] > 0
    except (KeyError, TypeError, OverflowError, RecursionError) as error:
        raise ValueError("not a list of vectors") from error
    if not sound or not (np.abs(rows) < _LARGEST).all():  # no comparison holds for what is not a number
        raise ValueError("not one sound vector a text")
    return unit(rows)
