"""Statements: all SQL of the index. Each names the household, and spreads over partitions and shards by it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from psycopg.types.json import Jsonb

from haru.corpus import CANDIDATES, sounding
from haru.order import Place
from haru.ports import Clause, Filters
from haru.postings import K1, B
from haru.scoring import LEARNED, Question

AS_HOUSEHOLD = "SELECT set_config('haru.household', %s, true)"
"""For row-level security; until the end of the transaction."""

_ONE = "m.body, u.use_count, u.last_used_at"
_USES = "JOIN haru_use u ON u.household = m.household AND u.id = m.id"

GET = f"SELECT {_ONE} FROM haru_memory m {_USES} WHERE m.household = %(household)s AND m.id = ANY(%(ids)s)"

_COLUMNS = "household, id, body, status, person, kind, importance, length, terms, embedder, near, vector, tokens"
PUT = (
    f"INSERT INTO haru_memory ({_COLUMNS}) VALUES ({', '.join(['%s'] * 10)}, %s::halfvec, %s, %s) "
    "ON CONFLICT (household, id) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS.split(", ")[2:])
    + " WHERE haru_memory.body <> excluded.body OR haru_memory.embedder <> excluded.embedder"
)
"""A memory that was only used is not written again."""
PUT_USE = """
INSERT INTO haru_use (household, id, use_count, last_used_at, touched_ms) VALUES (%s, %s, %s, %s, %s)
ON CONFLICT (household, id) DO UPDATE
SET use_count = excluded.use_count, last_used_at = excluded.last_used_at, touched_ms = excluded.touched_ms
"""
ERASE = (
    "DELETE FROM haru_memory WHERE household = %(household)s AND id = ANY(%(ids)s)",
    "DELETE FROM haru_use WHERE household = %(household)s AND id = ANY(%(ids)s)",
    "DELETE FROM haru_feedback WHERE household = %(household)s AND memory_id = ANY(%(ids)s)",
)
ERASE_OTHERS = (
    "DELETE FROM haru_memory WHERE household = %(household)s AND id <> ALL(%(ids)s)",
    "DELETE FROM haru_use WHERE household = %(household)s AND id <> ALL(%(ids)s)",
    "DELETE FROM haru_feedback WHERE household = %(household)s AND memory_id <> ALL(%(ids)s)",
)
FEEDBACK = """
INSERT INTO haru_feedback (household, id, memory_id, query_id, position, at) VALUES (%s, %s, %s, %s, %s, %s)
ON CONFLICT (household, id) DO NOTHING
"""
BY_STATUS = "SELECT status, count(*) FROM haru_memory WHERE household = %(household)s GROUP BY 1"
BY_KIND = "SELECT kind, count(*) FROM haru_memory WHERE household = %(household)s AND status = 'active' GROUP BY 1"


def page(filters: Filters, after: Place | None, limit: int, household: str) -> tuple[str, dict[str, Any]]:
    """A page of a listing: most important first, then last used or changed."""
    condition, values = _where(filters)
    if after is not None:
        condition += " AND (-m.importance, -u.touched_ms, m.id) > (%(importance)s, %(touched)s, %(after)s)"
        values |= {"importance": after[0], "touched": after[1], "after": after[2]}
    sql = (
        f"SELECT {_ONE} FROM haru_memory m {_USES} WHERE m.household = %(household)s AND {condition} "
        f"ORDER BY -m.importance, -u.touched_ms, m.id LIMIT %(limit)s"
    )
    return sql, {**values, "household": household, "limit": limit}


def candidates(question: Question, filters: Filters, embedder: str, household: str) -> tuple[str, dict[str, Any]]:
    """The hundred best by BM25 and the hundred nearest, with the household's word statistics: one pass over its rows.

    k1, b and idf are those of `haru.postings`.
    """
    condition, values = _where(filters)
    asked = [term for term, _ in question.terms]
    asked += [LEARNED + term for term in asked]
    asked += [sounding(sound) for _, sound in question.terms if sound]
    vector: list[float] = question.reading.vector.tolist() if question.reading is not None else []
    nearest = ""
    if any(vector):
        nearest = (
            "UNION (SELECT id FROM mine WHERE embedder = %(reader)s AND near IS NOT NULL "
            f"ORDER BY near <=> %(near)s::halfvec LIMIT {CANDIDATES})"
        )
        values["near"] = halfvec(vector)
    sql = f"""
WITH mine AS (
    SELECT m.id, m.terms, m.length, m.embedder, m.near FROM haru_memory m
    WHERE m.household = %(household)s AND {condition}
), store AS (
    SELECT count(*) AS memories, avg(length)::float8 AS length FROM mine
), held AS (
    SELECT mine.id, mine.length, term, count(*) AS times FROM mine, unnest(mine.terms) AS term
    WHERE term = ANY(%(asked)s) GROUP BY 1, 2, 3
), holding AS (
    SELECT term, count(*) AS memories FROM held GROUP BY 1
), found AS (
    (SELECT held.id FROM held JOIN holding USING (term), store GROUP BY held.id ORDER BY sum(
        ln(1 + (store.memories - holding.memories + 0.5::float8) / (holding.memories + 0.5::float8))
        * held.times * {K1 + 1}::float8
        / (held.times + {K1}::float8 * ({1 - B}::float8 + {B}::float8 * held.length / greatest(store.length, 1)))
    ) DESC LIMIT {CANDIDATES})
    {nearest}
)
SELECT m.id, {_ONE}, m.terms, m.person, m.importance, u.touched_ms,
    CASE WHEN m.embedder = %(reader)s THEN m.vector ELSE '' END,
    CASE WHEN m.embedder = %(reader)s THEN m.tokens ELSE '' END,
    store.memories, store.length, (SELECT json_object_agg(term, memories) FROM holding)
FROM haru_memory m {_USES} CROSS JOIN store WHERE m.household = %(household)s AND m.id IN (SELECT id FROM found)
"""
    return sql, {**values, "household": household, "asked": asked, "reader": embedder}


def halfvec(vector: Sequence[float]) -> str:
    """A vector as pgvector reads it."""
    return "[" + ",".join(f"{number:.6g}" for number in vector) + "]"


def _where(filters: Filters) -> tuple[str, dict[str, Any]]:
    parts, values = ["true"], dict[str, Any]()
    for name, value in (("status", filters.status), ("person", filters.person)):
        if value is not None:
            parts.append(f"m.{name} = %({name})s")
            values[name] = str(value)
    for number, clause in enumerate(filters.clauses):
        sql, more = _clause(clause, f"c{number}")
        parts.append(sql)
        values |= more
    return " AND ".join(parts), values


def _clause(clause: Clause, name: str) -> tuple[str, dict[str, Any]]:
    """A condition on a field of a carried document; of a list, on any element. JSON compares by type."""
    tests: list[str] = []
    values: dict[str, Any] = {f"{name}_field": clause.field}
    if clause.values:
        tests.append(f"element = ANY(%({name}_values)s::jsonb[])")
        values[f"{name}_values"] = [Jsonb(each) for each in clause.values]
    for bound, sign, end in ((clause.at_least, ">=", "low"), (clause.at_most, "<=", "high")):
        if bound is not None:
            tests.append(f"jsonb_typeof(element) = jsonb_typeof(%({name}_{end})s::jsonb)")
            if isinstance(bound, str):
                tests.append(f"(element #>> '{{}}') COLLATE \"C\" {sign} (%({name}_{end})s::jsonb #>> '{{}}')")
            else:
                tests.append(f"element {sign} %({name}_{end})s::jsonb")
            values[f"{name}_{end}"] = Jsonb(bound)
    field = f"m.body::jsonb -> 'content' -> %({name}_field)s"
    as_list = f"CASE jsonb_typeof({field}) WHEN 'array' THEN {field} ELSE jsonb_build_array({field}) END"
    elements = f"jsonb_array_elements({as_list})"
    return f"EXISTS (SELECT 1 FROM {elements} AS element WHERE {' AND '.join(tests) or 'true'})", values
