"""Every error Haru raises on purpose, in one tree.

::

    HaruError
    ├── SettingsError          a key, value or file of the settings is wrong
    ├── ExtraMissing           an optional part is not installed; says the command that installs it
    ├── RecordError            a record is not what its kind promises
    ├── LogUnwritable          the chat log or the journal cannot take a record now (disk full, read-only)
    ├── IndexFailure           the index did not do what was asked
    │   ├── IndexUnavailable   it cannot be reached, or it is locked: trying again later is right
    │   ├── IndexBusy          it asked us to wait (`retry_after_s`)
    │   └── IndexRefused       it will refuse the same call again: key, schema, damaged file
    └── ModelFailure           the language model did not answer as asked
        ├── ModelUnreachable   nothing answers at that address, or it answered too late
        ├── ModelBusy          it asked us to wait (`retry_after_s`)
        ├── ModelRefused       wrong key, wrong model name, wrong path: a person must mend the settings
        ├── ContextOverflow    the prompt is longer than the model can read
        └── ReplyUnusable      it answered, but not with anything that can be used

Messages name the thing and the remedy. They never carry memory text, spoken words or keys.
"""

from __future__ import annotations


class HaruError(Exception):
    """Base of all errors that Haru raises on purpose."""

    code = "haru"
    """Stable word for logs, receipts and exit reports."""


class SettingsError(HaruError):
    """A settings key, value or file is wrong."""

    code = "settings"


class ExtraMissing(HaruError):
    """An optional part is not installed."""

    code = "extra-missing"

    def __init__(self, part: str, command: str) -> None:
        super().__init__(f"{part} is not installed. Install it with: {command}")
        self.command = command


class RecordError(HaruError):
    """A record is not what its kind promises."""

    code = "record"


class LogUnwritable(HaruError):
    """The chat log or the journal cannot take a record now."""

    code = "log-unwritable"


class IndexFailure(HaruError):
    """The index did not do what was asked."""

    code = "index"


class IndexUnavailable(IndexFailure):
    """The index cannot be reached or is locked; trying again later is right."""

    code = "index-unavailable"


class IndexBusy(IndexFailure):
    """The index asked us to wait."""

    code = "index-busy"

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class IndexRefused(IndexFailure):
    """The index will refuse the same call again until a person mends something."""

    code = "index-refused"


class ModelFailure(HaruError):
    """The language model did not answer as asked."""

    code = "model"


class ModelUnreachable(ModelFailure):
    """Nothing answers at the model's address, or it answered too late."""

    code = "model-unreachable"


class ModelBusy(ModelFailure):
    """The model service asked us to wait."""

    code = "model-busy"

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ModelRefused(ModelFailure):
    """Wrong key, model name or path: a person must mend the settings."""

    code = "model-refused"


class ContextOverflow(ModelFailure):
    """The prompt is longer than the model can read."""

    code = "context-overflow"


class ReplyUnusable(ModelFailure):
    """The model answered, but not with anything that can be used."""

    code = "reply-unusable"
