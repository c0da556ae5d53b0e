"""`haru index`: serve an index to other machines, and move memories from one back end to another."""

from __future__ import annotations

import os
import secrets
from dataclasses import asdict
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

from rich.progress import Progress as Bar

from haru.app import compose
from haru.app.commands.opened import console, tell
from haru.app.settings import SERVER_KEY, SERVER_READ_KEY, Settings, load
from haru.copying import copy as copied_over
from haru.errors import ExtraMissing, SettingsError

if TYPE_CHECKING:
    from haru.doors.index_server.collection import BackEnd
    from haru.doors.index_server.keys import Grant

_ORGANISATION = "home"
_LASTING = ("sqlite", "relevan", "postgres")


async def serve(*, port: int, host: str, keys: Path | None, searches_a_minute: int) -> None:
    """Serve until interrupted.

    Raises:
        ExtraMissing: the extra `server` is not installed.
        SettingsError: the file of keys is none, or the address is open to others and there is no key of the person's.
    """
    try:
        import uvicorn

        from haru.doors.index_server.keys import Keys
        from haru.doors.index_server.server import Indexes, application
    except ImportError:
        raise ExtraMissing("the index server", "pip install 'haru[server]'") from None
    settings = load()
    home = compose.Home(settings.home)
    home.make()
    granted = _granted(keys) or _own_key(home, host)
    embedder = compose.embedder(settings)

    async def opener(organization: str, name: str, folder: Path) -> BackEnd:
        from haru.carried import Carried
        from haru.index.sqlite import SqliteIndex

        if settings.index.backend == "postgres":
            index: BackEnd = compose.postgres(settings, embedder, f"{organization}/{name}", Carried)
        else:
            index = SqliteIndex(folder / "index.db", embedder, maintain=True, record=Carried)
        await index.start()
        return index

    app = application(Indexes(home.folder / "served", opener), Keys(granted), searches_a_minute=searches_a_minute)
    console.print(f"Serving on http://{host}:{port} (what it can do: /docs). Ctrl-C ends it.")
    config = uvicorn.Config(app, host=host, port=port, access_log=False, log_level="warning")
    await uvicorn.Server(config).serve()


def _granted(file: Path | None) -> dict[str, Grant]:
    """Keys of the file and of the environment."""
    from haru.doors.index_server.keys import Grant, read

    granted = read(file) if file else {}
    if key := os.environ.get(SERVER_KEY, ""):
        granted[key] = Grant(_ORGANISATION, "write")
    if key := os.environ.get(SERVER_READ_KEY, ""):
        granted[key] = Grant(_ORGANISATION, "read")
    return granted


def _own_key(home: compose.Home, host: str) -> dict[str, Grant]:
    """Where no key was given: one of its own, in a file that the owner alone can read; on this machine only."""
    from haru.doors.index_server.keys import Grant

    if not _loopback(host):
        raise SettingsError(f"{host} can be reached from other machines: set {SERVER_KEY}, or give --keys FILE")
    file = home.folder / "index-server.key"
    if not file.exists():
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as written:
            written.write(secrets.token_urlsafe(24) + "\n")
    console.print(f"The key stands in {file}: set index.key_file to it.")
    return {file.read_text().strip(): Grant(_ORGANISATION, "write")}


def _loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


async def copy(source: str, target: str, *, remove: bool, as_json: bool) -> int:
    """Copy all memories from one back end to another, and compare them.

    Raises:
        SettingsError: an unknown back end, or twice the same.
    """
    settings = load()
    if source == target:
        raise SettingsError("the two back ends are the same: nothing to copy")
    async with (
        compose.opened_index(_with(settings, source), maintain=False) as one,
        compose.opened_index(_with(settings, target), maintain=False) as other,
    ):
        with Bar(console=console, disable=as_json) as bar:
            task = bar.add_task("Memories", total=None)
            done = await copied_over(one, other, lambda seen: bar.update(task, completed=seen), remove=remove)
    if as_json:
        tell({**asdict(done), "same": done.same})
    elif done.same:
        console.print(
            f"{done.written} written, {done.removed} removed. Both hold {done.target.count} memories with the checksum "
            f"{done.target.checksum[:12]}. To use it: set index.backend to {target}."
        )
    else:
        console.print(
            f"[yellow]{target} holds {done.target.count} memories, {source} {done.source.count}.[/yellow] What stands "
            "only at the target was left there: with --remove it is erased."
        )
    return 0 if done.same else 1


def _with(settings: Settings, backend: str) -> Settings:
    if backend not in _LASTING:
        raise SettingsError(f"there is no back end {backend!r} to copy from or to; known are {', '.join(_LASTING)}")
    return settings.model_copy(update={"index": settings.index.model_copy(update={"backend": backend})})
