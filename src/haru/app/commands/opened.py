"""What the commands open: settings, the index and the review over it."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from rich.console import Console
from rich.markup import escape

from haru.app import compose
from haru.app.settings import Settings, load
from haru.forgotten import Forgotten
from haru.review import Review

console = Console(soft_wrap=True, highlight=False, emoji=False)

_CONTROLS = {code: None for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}


def now() -> datetime:
    """Now, in UTC."""
    return datetime.now(UTC)


@asynccontextmanager
async def reviewing(door: str) -> AsyncGenerator[tuple[Review, compose.Index]]:
    """A review of the memories that the settings name."""
    settings = load()
    async with compose.opened_index(settings) as index:
        yield review(settings, index, door), index


def review(settings: Settings, index: compose.Index, door: str) -> Review:
    """A review over an open index."""
    home = compose.Home(settings.home)
    return Review(index, compose.journal(settings), home.log, Forgotten(home.forgotten), door=door, now=now)


def plain(text: str) -> str:
    """Text of people and models as they wrote it: no markup of ours in it, and no orders to the terminal."""
    return escape(text.translate(_CONTROLS))


def tell(value: object) -> None:
    """One JSON value on standard output."""
    print(json.dumps(value, ensure_ascii=False, default=str))
