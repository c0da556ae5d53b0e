"""`haru log …`: what was said, with what was recalled."""

from __future__ import annotations

import time
from collections import deque
from contextlib import suppress

from haru.app import compose
from haru.app.commands.opened import console, plain, tell
from haru.app.settings import load
from haru.chatlog import ChatLogReader, Problem, Turn

_FOLLOW_EVERY_S = 0.5


def show(session: str, *, last: int, as_json: bool) -> None:
    """Show turns, the newest last."""
    kept: deque[Turn | Problem] = deque(maxlen=last or None)
    for _, record in ChatLogReader(compose.Home(load().home).log).poll():
        if isinstance(record, Problem) or (isinstance(record, Turn) and session in {"", record.session}):
            kept.append(record)
    for record in kept:
        _print(record, as_json=as_json)


def follow(*, as_json: bool) -> None:
    """Show turns as they come."""
    reader = ChatLogReader(compose.Home(load().home).log)
    for _ in reader.poll():
        pass
    with suppress(KeyboardInterrupt):
        while True:
            for _, record in reader.poll():
                if isinstance(record, Turn | Problem):
                    _print(record, as_json=as_json)
            time.sleep(_FOLLOW_EVERY_S)


def _print(record: Turn | Problem, *, as_json: bool) -> None:
    if isinstance(record, Problem):
        if as_json:
            tell({"kind": "problem", "file": record.place.file, "start": record.place.start, "reason": record.reason})
        else:
            console.print(f"[yellow]not readable: {record}[/yellow]")
        return
    if as_json:
        tell(record.model_dump(mode="json", exclude_none=True))
        return
    console.print(f"[dim]{record.at:%Y-%m-%d %H:%M:%S} {record.session}[/dim]")
    console.print(f"  [cyan]{plain(record.person)}[/cyan]: {plain(record.said) or '[dim](forgotten)[/dim]'}")
    cut = " [dim](interrupted)[/dim]" if record.interrupted else ""
    console.print(f"  [green]Haru[/green]: {plain(record.heard_reply)}{cut}")
    if receipt := record.receipt:
        came_up = f"{len(receipt.recalled)} memories, waited {receipt.waited_ms:.1f} ms"
        console.print(f"  [dim]recall: {receipt.outcome}, {came_up}[/dim]")
