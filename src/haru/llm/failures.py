"""What a service's refusals mean, and what to do about each. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import cast

from haru.errors import ContextOverflow, ModelBusy, ModelFailure, ModelRefused, ModelUnreachable

_OVERFLOW = re.compile(
    r"context[ _-]?(?:length|size|window)|exceed_context_size|maximum context|too many tokens|prompt is too long",
    re.IGNORECASE,
)
_FORMAT = re.compile(r"response_format|json_schema|json_object|grammar|structured output", re.IGNORECASE)


def failure(
    status: int, body: bytes, headers: Mapping[str, str], *, service: str, model: str, now: datetime
) -> ModelFailure:
    """The error that an HTTP answer stands for. ``service`` is host and port."""
    told = _message(body)
    if _OVERFLOW.search(told):
        return ContextOverflow(f"the prompt is longer than {model} at {service} can read")
    if status in {401, 403}:
        return ModelRefused(f"{service} refuses the key (HTTP {status}): check llm.key")
    if status == 404:
        return ModelRefused(f"{service} knows no model {model}, or nothing at that path: check llm.model and llm.url")
    if status == 429:
        return ModelBusy(f"{service} asks to wait", retry_after_s(headers.get("retry-after", ""), now))
    if status >= 500 or status == 408:
        return ModelUnreachable(f"{service} failed (HTTP {status}): look at its own log")
    return ModelRefused(f"{service} refuses the request (HTTP {status}): check llm.url and llm.model")


def refuses_format(status: int, body: bytes) -> bool:
    """Whether a service may only have refused the form of answer that was asked for."""
    told = _message(body)
    return status in {400, 404, 415, 422, 500, 501} and not _OVERFLOW.search(told) and bool(_FORMAT.search(told))


def retry_after_s(value: str, now: datetime) -> float | None:
    """Seconds to wait by a ``Retry-After`` header: a number or a date; ``None`` where it can't be read."""
    try:
        return max(float(value), 0.0) if value.strip().isdigit() else _until(value, now)
    except (ValueError, TypeError):
        return None


def _until(value: str, now: datetime) -> float:
    return max((parsedate_to_datetime(value) - now).total_seconds(), 0.0)


def _message(body: bytes) -> str:
    """The text in which a service says what is wrong; searched for its meaning, never shown."""
    try:
        value: object = json.loads(body)
    except (ValueError, RecursionError):
        return body[:2000].decode("utf-8", "replace")
    if isinstance(value, dict):
        record = cast("dict[str, object]", value)
        return json.dumps(record.get("error", record))[:4000]
    return ""
