"""Answer: find the one JSON object that answers, in whatever a model sent back. Pure.

Models wrap it in fences, put prose with braces around it, think aloud before it, forget a comma, or run out of
tokens in the middle. What is cut off is never taken for whole: the batch is tried again instead.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import cast

import json_repair

from haru.errors import ReplyUnusable

LISTS = ("add", "update", "retire", "relevant")

Answer = dict[str, list[object]]
"""The four lists, each of anything: `haru.writer.operations` checks every item."""

_THOUGHT_ENDS = re.compile(r"</?think(?:ing)?>|\[/THINK\]", re.IGNORECASE)
_THOUGHT_BEGINS = re.compile(r"^\s*(?:<?think(?:ing)?>|\[THINK\])", re.IGNORECASE)
_MOST_STARTS = 200
"""Braces looked at; a reply with more is noise."""


def find(reply: str) -> Answer:
    """The answer in a reply.

    Raises:
        ReplyUnusable: there is none, or it was cut off. Never the same as an answer with nothing to remember.
    """
    body = _without_thoughts(reply)
    found = [answer for value in _objects(body) if (answer := _as_answer(value)) is not None]
    if not found:
        found = _repaired(body)
    filled = [answer for answer in found if any(answer.values())]
    # A template that is repeated before the answer is empty; of several drafts the last one counts.
    return (filled or found)[-1]


def _without_thoughts(reply: str) -> str:
    ends = [match.end() for match in _THOUGHT_ENDS.finditer(reply) if match.group()[1] == "/"]
    if ends:
        return reply[ends[-1] :]
    if _THOUGHT_BEGINS.match(reply):
        raise ReplyUnusable("the model thought until its tokens ran out; nothing followed")
    return reply


def _objects(body: str) -> Iterator[object]:
    """Every whole JSON value that begins with a brace, in order; those inside another are not looked at."""
    decoder = json.JSONDecoder(strict=False, object_pairs_hook=_joined)
    at = body.find("{")
    for _ in range(_MOST_STARTS):
        if at < 0:
            return
        try:
            value, end = decoder.raw_decode(body, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield value
        at = body.find("{", end)


def _joined(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object in which a list that is written twice keeps both halves: Python alone would drop the first."""
    joined: dict[str, object] = {}
    for key, value in pairs:
        before = joined.get(key)
        if isinstance(before, list) and isinstance(value, list):
            joined[key] = [*cast("list[object]", before), *cast("list[object]", value)]
        else:
            joined[key] = value
    return joined


def _as_answer(value: object) -> Answer | None:
    """An object with at least one of the four lists, or one that holds such an object."""
    if not isinstance(value, dict):
        return None
    record = {key.strip().lower(): each for key, each in cast("dict[str, object]", value).items()}
    if not any(name in record for name in LISTS):
        inner = [answer for each in record.values() if (answer := _as_answer(each)) is not None]
        return inner[0] if len(inner) == 1 else None
    return {name: _as_list(record.get(name)) for name in LISTS}


def _as_list(value: object) -> list[object]:
    if value is None:
        return []
    return cast("list[object]", value) if isinstance(value, list) else [value]


def _repaired(body: str) -> list[Answer]:
    """Nearly JSON, mended by a library and then checked like any other."""
    start = body.find("{")
    if start < 0:
        raise ReplyUnusable("the reply holds no JSON object")
    if _cut_off(body[start:]):
        raise ReplyUnusable("the reply was cut off in the middle of its JSON")
    end = body.rfind("}") + 1
    try:
        value: object = json_repair.loads(body[start:end])
    except (ValueError, RecursionError, TypeError, IndexError):
        raise ReplyUnusable("the reply's JSON can't be mended") from None
    answer = _as_answer(value)
    if answer is None:
        raise ReplyUnusable(f"the reply's JSON has none of {', '.join(LISTS)}")
    return [answer]


def _cut_off(text: str) -> bool:
    """Whether more braces and brackets open than close, those inside double-quoted strings apart."""
    depth = 0
    inside = escaped = False
    for sign in text:
        if inside:
            inside = escaped or sign != '"'
            escaped = sign == "\\" and not escaped
        elif sign == '"':
            inside = True
        else:
            depth += (sign in "{[") - (sign in "}]")
    return depth > 0 or inside
