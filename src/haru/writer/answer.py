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

_THOUGHT = re.compile(r"<(?P<ends>/?)(?:think(?:ing)?|thought|reasoning)>|\[(?P<ends_2>/?)THINK\]", re.IGNORECASE)
_HEADLESS = re.compile(r"^\s*(?=think(?:ing)?>)", re.IGNORECASE)
_BEGINS = re.compile(rf"""\{{\s*["']?(?P<name>{"|".join(LISTS)})["']?\s*:""", re.IGNORECASE)
_NAMED = re.compile(rf"""["']({"|".join(LISTS)})["']\s*:""", re.IGNORECASE)
_MOST_CHARS = 100_000
"""Longest reply that is looked at: many times what twenty operations take."""
_MOST_STARTS = 200
"""Braces looked at; a reply with more is noise."""
_DEPTH = 4
"""How deep in other objects an answer is looked for."""


def find(reply: str) -> Answer:
    """The answer in a reply.

    Raises:
        ReplyUnusable: there is none, or it was cut off. Never the same as an answer with nothing to remember.
    """
    if len(reply) > _MOST_CHARS:
        raise ReplyUnusable(f"the reply is longer than {_MOST_CHARS} characters")
    body = _without_thoughts(reply)
    whole = [(answer, span) for value, span in _objects(body) if (answer := _as_answer(value)) is not None]
    if not whole:
        return _repaired(body)
    filled = [(answer, span) for answer, span in whole if any(answer.values())]
    # A template that is repeated before the answer is empty; of several drafts the last one counts. But an answer
    # with a fault in it may stand beside a whole and empty template, which must not pass for the answer.
    answer, _ = (filled or whole)[-1]
    rest = _outside(body, [span for _, span in whole], filled[-1][1][1] if filled else 0)
    begun = _BEGINS.search(rest)
    if begun and (not filled or _cut_off(rest[begun.start() :])):
        return _repaired(rest[begun.start() :])
    return answer


def _without_thoughts(reply: str) -> str:
    """What was said after thinking; a thought without an end is no answer, whatever it drafts."""
    reply = _HEADLESS.sub("<", reply)
    marks = list(_THOUGHT.finditer(reply))
    start = max((mark.end() for mark in marks if mark["ends"] or mark["ends_2"]), default=0)
    opening = next((mark.start() for mark in marks if mark.start() >= start), None)
    body = reply[start:opening]
    if opening is not None and "{" not in body:
        raise ReplyUnusable("the model thought until its tokens ran out; nothing followed")
    return body


def _objects(body: str) -> Iterator[tuple[object, tuple[int, int]]]:
    """Every whole JSON object with its span, in order; those inside another are not looked at."""
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
            yield value, (at, end)
        at = body.find("{", end)


def _outside(body: str, spans: list[tuple[int, int]], start: int) -> str:
    """What stands after ``start``, apart from the spans."""
    parts: list[str] = []
    for left, right in spans:
        if right > start:
            parts.append(body[start:left])
            start = right
    return " ".join([*parts, body[start:]])


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


def _as_answer(value: object, depth: int = _DEPTH) -> Answer | None:
    """An object with at least one of the four lists, or one that holds such an object."""
    if not isinstance(value, dict) or not depth:
        return None
    record = _joined([(key.strip().lower(), each) for key, each in cast("dict[str, object]", value).items()])
    if not any(name in record for name in LISTS):
        inner = [answer for each in record.values() if (answer := _as_answer(each, depth - 1)) is not None]
        return inner[0] if len(inner) == 1 else None
    return {name: _as_list(record.get(name)) for name in LISTS}


def _as_list(value: object) -> list[object]:
    if value is None:
        return []
    return cast("list[object]", value) if isinstance(value, list) else [value]


def _repaired(body: str) -> Answer:
    """Nearly JSON, mended by a library and then checked like any other."""
    begun = _BEGINS.search(body)
    start = begun.start() if begun else body.find("{")
    if start < 0:
        raise ReplyUnusable("the reply holds no JSON object")
    text = body[start:]
    if _cut_off(text):
        raise ReplyUnusable("the reply was cut off in the middle of its JSON")
    names = [name.lower() for name in _NAMED.findall(text)]
    if len(names) != len(set(names)):  # the library would keep one list of two
        raise ReplyUnusable("the reply's JSON is broken and names a list twice")
    if text.count("{") > _MOST_STARTS:
        raise ReplyUnusable("the reply's JSON is broken and too long to be mended")
    try:
        value: object = json_repair.loads(text[: text.rfind("}") + 1], skip_json_loads=True)
    except (ValueError, RecursionError, TypeError, IndexError):
        raise ReplyUnusable("the reply's JSON can't be mended") from None
    answer = _as_answer(value)
    if answer is None:
        raise ReplyUnusable(f"the reply's JSON has none of {', '.join(LISTS)}")
    return answer


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
