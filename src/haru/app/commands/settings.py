"""`haru settings`: what is in force, and where it came from."""

from __future__ import annotations

from rich.table import Table

from haru.app.commands.opened import console, plain, tell
from haru.app.settings import in_force, load


def show(*, as_json: bool) -> None:
    """Print every setting; secrets are masked."""
    rows = list(in_force(load()))
    if as_json:
        tell({key: {"value": value, "from": origin} for key, value, origin in rows})
        return
    table = Table("setting", "value", "from")
    for key, value, origin in rows:
        table.add_row(key, plain(value), plain(origin) if origin != "default" else "[dim]default[/dim]")
    console.print(table)
