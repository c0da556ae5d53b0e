"""Order: how a listing goes, and the cursor that leads from one page to the next. Pure."""

from __future__ import annotations

import base64
import binascii
import json

from haru.errors import IndexRefused
from haru.memory import Memory

Place = tuple[int, int, str]
"""Importance and last touch (milliseconds since 1970), both negated, and the id: sorts as a listing goes."""


_LARGEST = 2**63
_NOWHERE: Place = (_LARGEST, 0, "")


def place(memory: Memory) -> Place:
    """Where a memory stands in a listing: most important first, then most recently used or changed."""
    return (-memory.importance, -touched_ms(memory), memory.id)


def touched_ms(memory: Memory) -> int:
    """When a memory was last used or changed, in milliseconds since 1970."""
    return int(max(memory.updated_at, memory.last_used_at or memory.updated_at).timestamp() * 1000)


def cursor_at(last: Place) -> str:
    """A cursor that leads on from the last memory of a page."""
    return base64.urlsafe_b64encode(json.dumps(last).encode()).decode()


def place_of(cursor: str) -> Place:
    """Where a cursor leads on from.

    Raises:
        IndexRefused: no listing gave this cursor.
    """
    try:
        importance, touched, key = json.loads(base64.urlsafe_b64decode(cursor.encode()))
        place = (int(importance), int(touched), str(key))
    except (binascii.Error, ValueError, TypeError, OverflowError):
        place = _NOWHERE
    if max(abs(place[0]), abs(place[1])) >= _LARGEST:  # more than SQLite can compare
        raise IndexRefused("that cursor is not from this index; begin the listing anew without one")
    return place
