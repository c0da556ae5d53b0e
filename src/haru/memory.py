"""Memory: one standalone third-person sentence, and the fields that rank it and lead back to its source."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Annotated

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer

MAX_TEXT_CHARS = 400
"""A longer memory is dropped, never cut: a cut sentence says something else."""

HOUSEHOLD = "household"
"""The person a memory belongs to when nobody in particular is known to have spoken."""

SCHEMA_VERSION = 1
"""Version of the fields below, stored with every memory."""


class Kind(StrEnum):
    """What sort of thing a memory tells."""

    FACT = "fact"
    PREFERENCE = "preference"
    PERSON = "person"
    EVENT = "event"
    PLAN = "plan"
    PROJECT = "project"
    INTEREST = "interest"
    FINDING = "finding"

    @property
    def usual_importance(self) -> int:
        """Importance where none is given: plans and dates 4, likings 3, findings 2 (the seed's scale)."""
        return _USUAL_IMPORTANCE[self]


_USUAL_IMPORTANCE = {
    Kind.FACT: 3,
    Kind.PREFERENCE: 3,
    Kind.PERSON: 4,
    Kind.EVENT: 4,
    Kind.PLAN: 4,
    Kind.PROJECT: 4,
    Kind.INTEREST: 3,
    Kind.FINDING: 2,
}


class Status(StrEnum):
    """Whether a memory may be recalled. Retiring is soft: nothing is lost."""

    ACTIVE = "active"
    RETIRED = "retired"


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


UtcTime = Annotated[AwareDatetime, PlainSerializer(_iso, return_type=str, when_used="json")]
"""A moment, written as ISO 8601 in UTC with milliseconds."""


_SURROGATE = re.compile(r"[\ud800-\udfff]")


def encodable(value: object) -> object:
    """Text with every lone surrogate, which UTF-8 has no form for, turned into U+FFFD; other values unchanged."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    return value


Text = Annotated[str, BeforeValidator(encodable)]
"""Text from outside (speech, models, people), made safe to encode."""


class Record(BaseModel):
    """A frozen record. Unknown keys are dropped, so that an older Haru reads what a newer one wrote."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Evidence(Record):
    """Where a memory comes from: the turns that said it, and a few of their words."""

    session: str
    turns: tuple[str, ...] = ()
    quote: Text = ""


class Memory(Record):
    """One thing Haru remembers."""

    id: str = Field(pattern=r"^[A-Za-z0-9_.:-]{1,512}$")
    """``mem-`` and hex. The alphabet is what every back end accepts."""
    text: Text = Field(min_length=1, max_length=MAX_TEXT_CHARS)
    """The sentence, in the language of the person who said it."""
    subject: Text = ""
    """What the sentence is about in two or three words ("dog Biscuit"); never "user"."""
    kind: Kind = Kind.FACT
    tags: tuple[Text, ...] = ()
    importance: int = Field(default=3, ge=1, le=5)
    """5 is core identity, 1 is trivia."""
    person: str = HOUSEHOLD
    """Who said it, and so whose memory it is."""
    about: str = ""
    """Whom the sentence is about, where that is not the person who said it."""
    status: Status = Status.ACTIVE
    use_count: int = Field(default=0, ge=0)
    """How many turns it has helped in."""
    created_at: UtcTime
    updated_at: UtcTime
    last_used_at: UtcTime | None = None
    source: str = ""
    """Id of the session it was first said in."""
    evidence: tuple[Evidence, ...] = ()
    valid_from: date | None = None
    valid_until: date | None = None
    supersedes: tuple[str, ...] = ()
    """Ids of memories that this one took the place of."""
    expected_queries: tuple[str, ...] = ()
    """Questions that it really answered."""
    sensitive: bool = False
    """Never said aloud before an unknown voice."""
    schema_version: int = SCHEMA_VERSION

    def changed(self, **fields: object) -> Memory:
        """A checked copy with some fields changed.

        Raises:
            pydantic.ValidationError: a changed value breaks the field's rule.
        """
        return Memory.model_validate({**dict(self), **fields})


class SearchRef(Record):
    """A back end's own ids for one search, kept only to send feedback with."""

    query_id: str = ""
    session_id: str = ""


class Feedback(Record):
    """One memory helped in one search (an ``llm_judgment`` event)."""

    id: str
    """Derived from search and memory, so that a repeat is recognised as one."""
    memory_id: str
    ref: SearchRef
    position: int = Field(ge=0)
    """Rank in that search's hits, counted from 0."""
    customer_id: str = HOUSEHOLD
    at: UtcTime


def derived_id(prefix: str, *parts: str) -> str:
    """An id that is the same whenever the same parts make it, so that a redo changes nothing."""
    digest = hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{prefix}-{digest[:16]}"
