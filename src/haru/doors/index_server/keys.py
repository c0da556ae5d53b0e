"""Keys: who may do what. Compared in constant time; never shown."""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from haru.errors import SettingsError

Access = Literal["read", "write"]
_LINE = re.compile(r"([a-z0-9-]{1,64})\s+(read|write)\s+(\S{8,200})")


@dataclass(frozen=True, slots=True)
class Grant:
    """What a key allows."""

    organization: str
    access: Access


class Keys:
    """All keys of a server.

    Args:
        granted: keys with what they allow.
    """

    def __init__(self, granted: dict[str, Grant]) -> None:
        self._granted = {_digest(key): grant for key, grant in granted.items()}
        self.organizations = sorted({grant.organization for grant in granted.values()})

    def grant(self, key: str) -> Grant | None:
        """What a key allows; nothing where there is no such key."""
        asked = _digest(key)
        found: Grant | None = None
        for digest, grant in self._granted.items():
            if hmac.compare_digest(digest, asked):
                found = grant
        return found


def read(file: Path) -> dict[str, Grant]:
    """Keys of a file: a line each, ORGANISATION read|write KEY; lines that begin with # are comments.

    Raises:
        SettingsError: the file cannot be read, or a line is none of these.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise SettingsError(f"the file of keys {file} cannot be read") from None
    granted: dict[str, Grant] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = _LINE.fullmatch(line.strip())
        if not found:
            raise SettingsError(
                f"{file}, line {number}: a line is ORGANISATION read|write KEY, the key 8 signs or more"
            )
        granted[found[3]] = Grant(found[1], "write" if found[2] == "write" else "read")
    if not granted:
        raise SettingsError(f"{file} holds no key")
    return granted


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
