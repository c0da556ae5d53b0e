"""Home: the one folder in which everything stands."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from haru.errors import SettingsError


@dataclass(frozen=True, slots=True)
class Home:
    """Where everything stands. Folders are made readable by their owner alone."""

    folder: Path

    @property
    def log(self) -> Path:
        """Folder of the chat log."""
        return self.folder / "log"

    @property
    def journal(self) -> Path:
        """The journal."""
        return self.folder / "journal.jsonl"

    @property
    def index(self) -> Path:
        """The embedded index."""
        return self.folder / "index.db"

    @property
    def forgotten(self) -> Path:
        """The tombstones."""
        return self.folder / "forgotten.jsonl"

    @property
    def writer_lock(self) -> Path:
        """Held by the writer at work."""
        return self.folder / "writer.lock"

    def make(self) -> None:
        """Make the folder where it is lacking.

        Raises:
            SettingsError: it can't be made.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise SettingsError(
                f"the folder {self.folder} cannot be made: {error.strerror}. Set `home` to another one"
            ) from None
