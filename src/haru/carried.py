"""Carried: a document of any shape, kept and found as a memory is. For searches that serve other programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

from pydantic import Field, JsonValue

from haru import wire
from haru.memory import Memory, Text
from haru.ports import Clause, Filters, Scalar

MAX_SEARCHED_CHARS = 20_000
"""Words of a longer document that are not searched; it is kept whole."""
_NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)


class Carried(Memory):
    """A document: its content as it came, and the memory that it is searched as."""

    text: Text = Field(default="", max_length=MAX_SEARCHED_CHARS)
    content: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])


def carried(key: str, content: Mapping[str, JsonValue], searchable: Sequence[str]) -> Carried:
    """A document to be kept. One of Haru's own has all the fields that a memory has; another is its words.

    Args:
        key: id of the document.
        content: its fields.
        searchable: names of those that are searched.
    """
    try:
        fields: dict[str, Any] = dict(wire.memory(key, content)) if content.get("mem_id") == key else {}
    except ValueError:
        fields = {}
    if not fields:
        text = "\n".join(word for field in searchable for word in spelt(content.get(field)))
        fields = {"id": key, "text": text[:MAX_SEARCHED_CHARS], "created_at": _NO_TIME, "updated_at": _NO_TIME}
    return Carried.model_validate({**fields, "content": content})


def spelt(value: JsonValue) -> list[str]:
    """The texts in a value."""
    if isinstance(value, dict):
        return [word for each in value.values() for word in spelt(each)]
    if isinstance(value, list):
        return [word for each in value for word in spelt(each)]
    return [] if value is None or isinstance(value, bool) else [str(value)]


def meets(memory: Memory, filters: Filters) -> bool:
    """Whether a memory may come back."""
    if filters.status not in {None, memory.status} or filters.person not in {None, memory.person}:
        return False
    content = memory.content if isinstance(memory, Carried) else {}
    return all(_holds(content.get(clause.field), clause) for clause in filters.clauses)


def _holds(value: JsonValue, clause: Clause) -> bool:
    elements = value if isinstance(value, list) else [value]
    return any(_within(cast("Scalar", each), clause) for each in elements if isinstance(each, bool | int | float | str))


def _within(value: Scalar, clause: Clause) -> bool:
    if clause.values:
        return any(value == each and isinstance(value, str) is isinstance(each, str) for each in clause.values)
    return _above(value, clause.at_least) and _above(clause.at_most, value)


def _above(value: Scalar | None, bound: Scalar | None) -> bool:
    """Whether a value is not below a bound, where both are there; text and numbers don't compare."""
    if value is None or bound is None:
        return True
    if isinstance(value, str):
        return isinstance(bound, str) and value >= bound
    return not isinstance(bound, str) and value >= bound
