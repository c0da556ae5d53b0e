"""Yielding: work in a thread that leaves an event loop its turn."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")

_EVERY = 16
_PAUSE_S = 50e-6


def yielding(items: Iterable[Item]) -> Iterator[Item]:
    """The items, with a very short sleep after every sixteen.

    numpy and SQLite let go of the interpreter's lock and take it again so fast that a thread waiting for it is woken
    each time and each time too late (the convoy effect, CPython issue 7946): a loop then stands still for as long as
    the work takes. A sleep lets it in.
    """
    for number, item in enumerate(items, 1):
        yield item
        if number % _EVERY == 0:
            time.sleep(_PAUSE_S)
