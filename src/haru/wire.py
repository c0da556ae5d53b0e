"""Wire: how memories travel by the contract of the hosted search API, as documents with fields under a mapping."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from haru.memory import Memory
from haru.ports import Filters

INDEX_NAME = re.compile(r"(?!-)[a-z0-9-]{1,64}(?<!-)")

_LABEL = ["filterable"]
_SEARCHED = ["searchable", "highlightable"]
_SIGNAL = ["filterable", "sortable"]

MAPPING: dict[str, Any] = {
    "language": "english",
    "fields": {
        "mem_id": {"kind": "id", "use": _LABEL},
        "text": {"kind": "text", "use": _SEARCHED},
        "subject": {"kind": "text", "use": _SEARCHED},
        "tags": {"kind": "text", "use": ["searchable", "filterable"]},
        "expected_queries": {"kind": "text", "use": ["searchable"]},
        "about": {"kind": "text", "use": ["searchable", "filterable"], "language": "none"},
        "kind": {"kind": "id", "use": _LABEL},
        "status": {"kind": "id", "use": _LABEL},
        "person": {"kind": "id", "use": _LABEL},
        "source": {"kind": "id", "use": _LABEL},
        "importance": {"kind": "number", "use": _SIGNAL},
        "use_count": {"kind": "number", "use": _SIGNAL},
        "created_at": {"kind": "date", "use": _SIGNAL},
        "updated_at": {"kind": "date", "use": _SIGNAL},
        "last_used_at": {"kind": "date", "use": _SIGNAL},
        "rest": {"kind": "text", "use": ["filterable"], "language": "none"},
    },
}
"""What Haru deploys. A document with a field that stands not here would have its whole batch rejected."""

_LISTS = ("tags", "expected_queries")
"""They travel as one text to be searched, for nothing public tells how a list is mapped; `rest` keeps them whole."""
_PLAIN = MAPPING["fields"].keys() - {"mem_id", "rest", *_LISTS}


def content(memory: Memory) -> dict[str, Any]:
    """A memory as a document's content: fields of its own where they can be searched or filtered by, and the rest."""
    fields = memory.model_dump(mode="json", exclude={"id"}, exclude_defaults=True)
    rest = {key: value for key, value in fields.items() if key not in _PLAIN}
    shown = {
        **{key: value for key, value in fields.items() if key in _PLAIN},
        **{key: ", ".join(fields[key]) for key in _LISTS if key in fields},
        "mem_id": memory.id,
        "kind": memory.kind,
        "status": memory.status,
        "person": memory.person,
        "importance": memory.importance,
        "use_count": memory.use_count,
        "rest": json.dumps(rest, ensure_ascii=False) if rest else "",
    }
    return {key: value for key, value in shown.items() if value != ""}


def memory(key: str, content: Mapping[str, Any]) -> Memory:
    """The memory that a document holds.

    Raises:
        ValueError: it holds none; the message names fields and never their values.
    """
    try:
        rest = json.loads(content.get("rest") or "{}")
        fields = {field: content[field] for field in _PLAIN if content.get(field) is not None}
        if "tags" not in rest and (tags := content.get("tags")):  # written by another program
            rest["tags"] = tags.split(", ") if isinstance(tags, str) else tags
        return Memory.model_validate({**rest, **fields, "id": key})
    except ValidationError as error:
        faults = error.errors(include_input=False, include_url=False)
        raise ValueError(", ".join(f"{'.'.join(map(str, each['loc']))}: {each['type']}" for each in faults)) from None
    except (TypeError, AttributeError, ValueError, RecursionError):
        raise ValueError("rest: no JSON object") from None


def filters(wanted: Filters) -> list[dict[str, str]]:
    """Clauses of a search; all must hold."""
    return [
        {"field": field, "value": str(value)}
        for field, value in (("status", wanted.status), ("person", wanted.person))
        if value is not None
    ]
