"""Check: whether documents, filters and mappings fit each other. Pure; a fault names the field and never its value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from pydantic import JsonValue

from haru import ports
from haru.doors.index_server.shapes import Clause, Document, FieldSpec, Mapping, Sort

_MOST_FAULTS = 20


def documents(uploaded: Sequence[Document], mapping: Mapping) -> list[str]:
    """What is wrong with documents. One fault rejects them all."""
    faults: list[str] = []
    for document in uploaded:
        for field, value in document.content.items():
            spec = mapping.fields.get(field)
            if spec is None:
                faults.append(f"document {document.id}: field {field} is not in the mapping")
            elif not _fits(value, spec):
                faults.append(f"document {document.id}: field {field} is no {spec.kind}")
            if len(faults) >= _MOST_FAULTS:
                return faults
    return faults


def _fits(value: JsonValue, spec: FieldSpec) -> bool:
    if value is None:
        return True
    match spec.kind:
        case "object":
            return isinstance(value, dict | list)
        case "array":
            return isinstance(value, list)
        case kind:
            return all(_scalar(each, kind) for each in (value if isinstance(value, list) else [value]))


def _scalar(value: JsonValue, kind: str) -> bool:
    match kind:
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "boolean":
            return isinstance(value, bool)
        case "date":
            return isinstance(value, str) and _is_date(value)
        case _:
            return isinstance(value, str | int | float)


def _is_date(value: str) -> bool:
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def clauses(filters: Sequence[Clause], mapping: Mapping) -> tuple[list[ports.Clause], list[str]]:
    """Conditions for a back end, and what is wrong with them."""
    faults = [fault for each in filters for fault in _faults(each, mapping)]
    made = [
        ports.Clause(
            field=each.field,
            values=tuple(each.values or ([] if each.value is None else [each.value])),
            at_least=each.gte,
            at_most=each.lte,
        )
        for each in filters
    ]
    return made, faults


def _faults(clause: Clause, mapping: Mapping) -> Iterator[str]:
    spec = mapping.fields.get(clause.field)
    if spec is None or "filterable" not in spec.use:
        yield f"field {clause.field} is not filterable in the mapping"
    elif (clause.gte is not None or clause.lte is not None) and spec.kind not in {"number", "date"}:
        yield f"field {clause.field} has no range: its kind is {spec.kind}"
    elif spec.kind == "number" and any(isinstance(bound, str) for bound in (clause.gte, clause.lte)):
        yield f"field {clause.field} is a number: its bounds must be numbers"


def order(sort: Sequence[Sort], mapping: Mapping) -> list[str]:
    """What is wrong with an order of results."""
    return [
        f"field {each.field} is not sortable in the mapping"
        for each in sort
        if each.field not in mapping.fields or "sortable" not in mapping.fields[each.field].use
    ]


def searchable(mapping: Mapping) -> list[str]:
    """Fields that are searched."""
    return [name for name, spec in mapping.fields.items() if "searchable" in spec.use]


def place(content: dict[str, JsonValue], sort: Sequence[Sort]) -> tuple[Any, ...]:
    """Where a document stands in an order; one without the field comes last."""
    return tuple(_key(content.get(each.field), descending=each.order == "desc") for each in sort)


def _key(value: JsonValue, *, descending: bool) -> tuple[Any, ...]:
    if isinstance(value, bool | int | float):
        return (0, -value if descending else value)
    if isinstance(value, str):
        return (1, tuple(-ord(sign) for sign in value) if descending else tuple(map(ord, value)))
    return (2,)
