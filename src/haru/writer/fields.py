"""Fields: clean values out of whatever a model wrote for them. Pure.

Nothing is stored as the text form of an object, and no label carries a secret past the check of the sentence.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import cast

from haru import words
from haru.memory import MAX_TEXT_CHARS, Kind, encodable
from haru.writer.refusals import holds_secret

MAX_TAGS = 8
MAX_TAG_CHARS = 40
MAX_SUBJECT_CHARS = 60
MAX_REASON_CHARS = 200

_NOBODY = frozenset({"", "user", "the user", "users", "the users", "household", "the household", "person", "speaker"})
_USER_ID = re.compile(r"(?:the )?user[ _-]?(?:id|name|\d+)?[ _-]?\d*")
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069\ufffd]")
"""Signs that no sentence needs, and half an emoji."""
_ID = re.compile(r"[A-Za-z0-9_.:-]{0,64}")
_ODD = "(not an id)"
_KINDS = {
    "hobby": Kind.INTEREST,
    "hobbyhorse": Kind.INTEREST,
    "like": Kind.PREFERENCE,
    "dislike": Kind.PREFERENCE,
    "people": Kind.PERSON,
    "relationship": Kind.PERSON,
    "family": Kind.PERSON,
    "date": Kind.EVENT,
    "appointment": Kind.PLAN,
    "goal": Kind.PLAN,
    "todo": Kind.PLAN,
    "task": Kind.PROJECT,
    "lookup": Kind.FINDING,
    "search": Kind.FINDING,
}
"""What models write instead of the kinds they were given."""


class Refused(Exception):
    """One operation is not carried out."""

    def __init__(self, reason: str, key: str = "") -> None:
        super().__init__(reason)
        self.key = key
        """Id of the memory it would have changed."""


def as_fields(item: object) -> Mapping[str, object]:
    """The fields of one item; of a plain string, its text.

    Raises:
        Refused: it is neither.
    """
    if isinstance(item, str):
        return {"text": item}
    if isinstance(item, dict):
        return {key.lower(): value for key, value in cast("dict[str, object]", item).items()}
    raise Refused("not an object")


def as_sentence(value: object) -> str:
    """One clean line; of an object, its one longer string.

    Raises:
        Refused: there is none.
    """
    if isinstance(value, dict):
        strings = [each for each in cast("dict[str, object]", value).values() if isinstance(each, str) and " " in each]
        value = strings[0] if len(strings) == 1 else None
    if not isinstance(value, str):
        raise Refused("no text")
    return _line(value, 10 * MAX_TEXT_CHARS)


def _line(value: object, most: int) -> str:
    if not isinstance(value, str):
        return ""
    return " ".join(_CONTROLS.sub("", str(encodable(value))).split())[:most]


def as_label(value: object) -> str:
    """A subject or a name in a few words; empty where it is none."""
    return _label(value, MAX_SUBJECT_CHARS)


def as_reason(value: object) -> str:
    """Why a memory is retired."""
    return _label(value, MAX_REASON_CHARS)


def _label(value: object, most: int) -> str:
    line = _line(value, most)
    return "" if holds_secret(line) else line


def as_id(value: object) -> str:
    """An id that may be logged; empty where there is none."""
    if isinstance(value, dict):
        value = cast("dict[str, object]", value).get("id")
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**9:
        value = str(value)
    if value is None:
        return ""
    # It may be logged, so what doesn't look like an id is not repeated: it could be somebody's words.
    return value.strip() if isinstance(value, str) and _ID.fullmatch(value.strip()) else _ODD


def as_tags(value: object) -> tuple[str, ...]:
    """Clean labels, each once."""
    items: list[object] = cast("list[object]", value) if isinstance(value, list) else []
    if isinstance(value, str):
        items = [*re.split(r"[,;]", value)]
    lines = (_label(each, MAX_TAG_CHARS) for each in items)
    return tuple(dict.fromkeys(line for line in lines if line))[:MAX_TAGS]


def as_subject(value: object, tags: tuple[str, ...], text: str) -> str:
    """A subject that search can match: "user" is true of every memory."""
    given = as_label(value)
    plain = re.sub(r"['’]s\b|[^\w\s]", "", given).strip().lower()
    if plain not in _NOBODY and not _USER_ID.fullmatch(plain):
        return given
    useful = [tag for tag in tags if tag.lower() not in _NOBODY]
    return " ".join(useful[:3]) if useful else " ".join(words.content(text)[:4])


def as_kind(value: object) -> Kind:
    """A kind that is known."""
    name = value.strip().lower() if isinstance(value, str) else ""
    try:
        return Kind(name)
    except ValueError:
        return _KINDS.get(name, Kind.FACT)


def as_importance(value: object, kind: Kind) -> int:
    """A whole number from 1 to 5; the kind's usual one where the value is none."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return kind.usual_importance
    if isinstance(value, bool) or not isinstance(value, int | float):
        return kind.usual_importance
    if isinstance(value, float) and not math.isfinite(value):
        return kind.usual_importance
    return round(max(1, min(5, value)))
