"""Every replaceable part, on one page.

Adapters (``index``, ``embed``, ``llm``) implement these; the work above them knows nothing else.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from haru.memory import HOUSEHOLD, Feedback, Memory, Record, SearchRef, Status

Vectors = NDArray[np.float32]


Scalar = bool | float | str


class Clause(Record):
    """A condition on a field of a carried document (`haru.carried`); of a list, any element may meet it."""

    field: str
    values: tuple[Scalar, ...] = ()
    """One of these."""
    at_least: float | str | None = None
    at_most: float | str | None = None


class Filters(Record):
    """Which memories may come back. ``None`` means any."""

    status: Status | None = Status.ACTIVE
    person: str | None = None
    clauses: tuple[Clause, ...] = ()
    """For documents that are carried; a back end that carries none knows no such fields."""


ACTIVE = Filters()


class Hit(Record):
    """A memory that a search found."""

    memory: Memory
    score: float
    position: int
    """Rank in the search, from 0."""


class Hits(Record):
    """What one search found, best first."""

    hits: tuple[Hit, ...] = ()
    ref: SearchRef


class Page(Record):
    """One page of a listing. ``cursor`` is ``None`` on the last one."""

    memories: tuple[Memory, ...] = ()
    cursor: str | None = None


class MemoryIndex(Protocol):
    """The searchable copy of all memories; it can be rebuilt from the journal.

    Every method raises `haru.errors.IndexFailure` (or a child of it) when it cannot do its work, and nothing
    else. Time limits belong to the caller, and every method may be cancelled. No method blocks the event loop.
    """

    async def search(
        self, query: str, *, size: int = 10, filters: Filters = ACTIVE, customer_id: str = HOUSEHOLD
    ) -> Hits:
        """Find at most ``size`` memories. Any text is a legal query. Less, or nothing, rather than noise."""
        ...

    async def page(self, *, cursor: str | None = None, limit: int = 1000, filters: Filters = ACTIVE) -> Page:
        """List memories, most important first, then most recently used or changed.

        Raises:
            IndexRefused: the cursor is not one that this index gave.
        """
        ...

    async def get(self, ids: Sequence[str]) -> list[Memory]:
        """Those of the memories that exist, in the order asked, whatever their status."""
        ...

    async def put(self, memories: Sequence[Memory]) -> None:
        """Add or replace, by id, all or none. Done means that the next search of any process sees it."""
        ...

    async def erase(self, ids: Sequence[str]) -> None:
        """Remove for good, the words and vectors too. Ids that are not there are no error."""
        ...

    async def feedback(self, event: Feedback) -> None:
        """Record that a memory helped. The same event twice counts once."""
        ...

    async def warm(self) -> None:
        """Have at hand what a search soon needs: a connection open, a model loaded. Called when speech begins."""
        ...

    async def aclose(self) -> None:
        """Let go of files, threads and connections. May be called twice."""
        ...


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as an embedder reads it."""

    vector: Vectors
    """Its meaning as a whole, shape (dim,): unit length, or zeros where nothing is known."""
    tokens: Vectors
    """The meaning of its parts, each in its context, shape (n, dim): unit length, or zeros. No rows where the embedder
    knows whole texts alone."""
    words: tuple[str, ...] = ()
    """The word, in lower case, that each part belongs to."""


class Embedder(Protocol):
    """Text to vectors of length 1. Called off the event loop; may be called from several threads."""

    @property
    def id(self) -> str:
        """Names the model and its version; stored with every vector."""
        ...

    @property
    def dim(self) -> int:
        """Length of a vector."""
        ...

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> Vectors:
        """One row a text, shape (n, dim), unit length; all zeros where a text has nothing the model knows.

        Raises:
            IndexUnavailable: the embedding service cannot be reached.
        """
        ...

    def read(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> list[Reading]:
        """The same vectors, and with them the parts that a closer comparison needs. Fails as `embed` does."""
        ...


class Message(Record):
    """One message to a chat model."""

    role: Literal["system", "user", "assistant"]
    content: str


class Completion(Record):
    """A whole reply."""

    text: str
    finish: Literal["stop", "length", "other"] = "stop"
    """``length``: the reply was cut off by the token limit."""
    prompt_tokens: int = 0
    reply_tokens: int = 0


class ChatModel(Protocol):
    """A language model. Every failure is a `haru.errors.ModelFailure`."""

    @property
    def id(self) -> str:
        """Name of the model, as people know it."""
        ...

    def stream(
        self, messages: Sequence[Message], *, max_tokens: int = 512, timeout_s: float = 60.0
    ) -> AsyncIterator[str]:
        """The reply piece by piece. ``timeout_s`` bounds the whole reply."""
        ...

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, object] | None = None,
        max_tokens: int = 2048,
        timeout_s: float = 120.0,
    ) -> Completion:
        """The whole reply at once; with ``schema``, JSON by that schema as far as the service can."""
        ...

    async def aclose(self) -> None:
        """Let go of connections. May be called twice."""
        ...
