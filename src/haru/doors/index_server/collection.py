"""Collection: one index of the server: its record and mappings in a file, its documents in a back end."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol, cast

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from haru import wire, words
from haru.carried import Carried, carried
from haru.doors.index_server import check
from haru.doors.index_server.account import account
from haru.doors.index_server.shapes import (
    Answer,
    Document,
    Event,
    IndexRecord,
    IndexState,
    Listed,
    Mapping,
    NewIndex,
    Query,
    Result,
    Revision,
    SearchContext,
)
from haru.learning import learned
from haru.memory import HOUSEHOLD, Feedback, Memory, SearchRef, derived_id
from haru.ports import Clause, Filters, MemoryIndex

_QUERIES_KEPT = 10_000
"""Searches that feedback is still understood of."""
_BOOST = 0.1
"""What a boost of 1 adds, as a share of what the boosted word alone would score."""
_REORDERED = 100
_HOW_TO_SEARCH = """\
Search: `POST {path}` with `query` (as said, in any words), `size` (1 to 100) and `filters` (`field` with `value`,
`values`, or `gte` and `lte`). Fewer results than asked for, or none, mean that nothing else answers the question.
"""
_OWN = ("status", "person")


class BackEnd(MemoryIndex, Protocol):
    """Where documents are kept."""

    async def start(self) -> None:
        """Open it."""
        ...

    async def stats(self) -> dict[str, object]:
        """Counts; under ``status``, documents by status."""
        ...


class Faulty(ValueError):
    """A request that the contract refuses; says what is wrong with it."""


class _State(BaseModel):
    """What the file holds."""

    model_config = ConfigDict(extra="ignore")

    record: IndexRecord
    changed_at: datetime | None = None
    revisions: list[Revision] = []


class Collection:
    """One index. Make it with `made` or `opened`.

    Args:
        file: where its record stands.
        state: the record.
        back_end: where its documents are kept.
    """

    def __init__(self, file: Path, state: _State, back_end: BackEnd) -> None:
        self._file = file
        self._state = state
        self._back_end = back_end
        self._writing = asyncio.Lock()
        self._in_flight = 0
        self._asked: OrderedDict[str, str] = OrderedDict()

    @property
    def record(self) -> IndexRecord:
        """What is known of it."""
        return self._state.record

    @property
    def revisions(self) -> list[Revision]:
        """Its mappings, the oldest first."""
        return self._state.revisions

    @property
    def mapping(self) -> Mapping:
        """The live one.

        Raises:
            Faulty: none is deployed.
        """
        if not self.revisions:
            raise Faulty("no mapping is deployed: POST one to .../mappings first")
        return self.revisions[-1].relevan_mapping

    async def state(self) -> IndexState:
        """The record, and how far indexing is."""
        indexed = await self._count()
        accepted = indexed + self._in_flight
        return IndexState(
            **dict(self.record),
            documents_accepted=accepted,
            documents_indexed=indexed,
            documents_accepted_changed_at=self._state.changed_at if accepted else None,
            ready_to_search=0 < indexed == accepted,
        )

    async def deploy(self, mapping: Mapping) -> Revision:
        """Make a mapping the live one."""
        written = mapping.model_dump(mode="json", by_alias=True, exclude_none=True)
        as_json = json.dumps(written, sort_keys=True, ensure_ascii=False)
        async with self._writing:
            revision = Revision(
                id=f"map-{secrets.token_hex(6)}",
                revision=len(self.revisions) + 1,
                relevan_mapping=mapping,
                relevan_mapping_yaml=json.dumps(written, indent=2, ensure_ascii=False),  # JSON is YAML
                relevan_mapping_hash=hashlib.sha256(as_json.encode("utf-8", "replace")).hexdigest(),
                created_at=_now(),
            )
            await self._keep(revisions=[*self.revisions, revision])
        return revision

    async def put(self, documents: Sequence[Document]) -> None:
        """Add or replace documents, all or none; done when they can be found.

        Raises:
            Faulty: one does not fit the mapping.
        """
        mapping = self.mapping
        if faults := check.documents(documents, mapping):
            raise Faulty("; ".join(faults))
        searchable = check.searchable(mapping)
        newest = {each.id: each for each in documents}
        async with self._writing:
            before = {each.id: each for each in await self._back_end.get(list(newest))}
            self._in_flight = len(newest) - len(before)
            try:
                await self._back_end.put(
                    [
                        _with_learned(carried(each.id, each.content, searchable), before.get(each.id))
                        for each in newest.values()
                    ]
                )
            finally:
                self._in_flight = 0
            await self._keep(changed_at=_now())

    async def get(self, key: str) -> Document | None:
        """One document."""
        return next((_document(each) for each in await self._back_end.get([key])), None)

    async def remove(self, key: str) -> bool:
        """Remove a document for good; false where there was none."""
        async with self._writing:
            if not await self._back_end.get([key]):
                return False
            await self._back_end.erase([key])
            await self._keep(changed_at=_now())
        return True

    async def page(self, cursor: str | None, limit: int) -> Listed:
        """A page of all documents."""
        page = await self._back_end.page(cursor=cursor, limit=limit, filters=Filters(status=None))
        return Listed(documents=[_document(each) for each in page.memories], next_cursor=page.cursor)

    async def search(self, query: Query) -> Answer:
        """Find documents.

        Raises:
            Faulty: a filter, or an order, that the mapping does not allow.
        """
        began = time.perf_counter()
        mapping = self.mapping
        clauses, faults = check.clauses(query.filters, mapping)
        if faults := [*faults, *check.order(query.sort, mapping)]:
            raise Faulty("; ".join(faults))
        size = max(_REORDERED, query.size) if query.boost or query.sort else query.size
        filters = _filters(clauses, mapping)
        customer = query.customer_id or HOUSEHOLD
        hits = await self._back_end.search(query.query, size=size, filters=filters, customer_id=customer)
        scores = {hit.memory.id: (hit.score, hit.memory) for hit in hits.hits}
        for term, weight in query.boost.items():
            more = await self._back_end.search(term, size=size, filters=filters, customer_id=customer)
            for hit in more.hits:
                score, memory = scores.get(hit.memory.id, (0.0, hit.memory))
                scores[hit.memory.id] = (score + _BOOST * weight * hit.score, memory)
        ranked = sorted(scores.values(), key=lambda pair: -pair[0])
        if query.sort:
            ranked.sort(key=lambda pair: check.place(_content(pair[1]), query.sort))
        query_id = f"q-{secrets.token_hex(8)}"
        self._asked[query_id] = query.query
        if len(self._asked) > _QUERIES_KEPT:
            self._asked.popitem(last=False)
        searchable = check.searchable(mapping)
        results = await asyncio.to_thread(_results, query.query, ranked[: query.size], mapping, searchable)
        fields = [field for each in results for field in each.matched_fields]
        return Answer(
            took=round((time.perf_counter() - began) * 1000),
            results=results,
            search_context=SearchContext(
                query_id=query_id,
                session_id=query.session_id or f"s-{secrets.token_hex(8)}",
                query_used=words.asked(query.query),
                total_hits=len(ranked),
                matched_terms=list(dict.fromkeys(term for each in results for term in each.matched_terms)),
                top_contributing_fields=sorted(set(fields), key=lambda field: -fields.count(field)),
                scoring_summary="words as a share of what the question could reach, meaning, and coverage part by part",
                searchable_fields=searchable,
            ),
        )

    async def feedback(self, event: Event) -> None:
        """Keep an event, once; a document that was right is found more easily for such a question, within bounds."""
        if event.object_id is None:
            return
        ref = SearchRef(query_id=event.query_id, session_id=event.session_id or "")
        key = derived_id("f", event.action_name, event.query_id, event.object_id)
        told = Feedback(id=key, memory_id=event.object_id, ref=ref, position=event.position or 0, at=_now())
        await self._back_end.feedback(told)
        question = self._asked.get(event.query_id)
        if question is None or event.source == "eval":
            return
        async with self._writing:
            for each in await self._back_end.get([event.object_id]):
                queries = learned(each.expected_queries, [question])
                if queries != each.expected_queries:
                    await self._back_end.put([each.changed(expected_queries=queries)])

    def skill(self) -> str:
        """A guide for agents: which fields there are, and how to search them. No documents in it."""
        fields = self.mapping.fields
        by_use = {
            use: [name for name, spec in fields.items() if use in spec.use]
            for use in ("searchable", "filterable", "sortable")
        }
        lines = [f"# {self.record.index_name}", "", self.record.description or "", ""]
        lines += [f"{use.capitalize()} fields: {', '.join(names) or 'none'}." for use, names in by_use.items()]
        path = f"/v1/{self.record.organization_id}/indexes/{self.record.index_name}/search"
        lines += ["", _HOW_TO_SEARCH.format(path=path)]
        return "\n".join(lines)

    async def aclose(self) -> None:
        """Let go of the back end."""
        await self._back_end.aclose()

    async def _count(self) -> int:
        counts = (await self._back_end.stats())["status"]
        return sum(cast("dict[str, int]", counts).values())

    async def _keep(self, **changed: object) -> None:
        self._state = self._state.model_copy(update={**changed})
        await asyncio.to_thread(_write, self._file, self._state)


async def made(
    file: Path, organization: str, wanted: NewIndex, opener: Callable[[Path], Awaitable[BackEnd]]
) -> Collection:
    """A new index."""
    now = _now()
    record = IndexRecord(
        id=f"ix-{secrets.token_hex(6)}",
        organization_id=organization,
        index_name=wanted.name,
        display_name=wanted.display_name,
        description=wanted.description,
        created_at=now,
        updated_at=now,
    )
    state = _State(record=record)
    await asyncio.to_thread(_write, file, state)
    return Collection(file, state, await opener(file.parent))


async def opened(file: Path, opener: Callable[[Path], Awaitable[BackEnd]]) -> Collection:
    """One that is there.

    Raises:
        pydantic.ValidationError: the file is none of ours.
    """
    state = _State.model_validate_json(await asyncio.to_thread(file.read_bytes))
    return Collection(file, state, await opener(file.parent))


def _write(file: Path, state: _State) -> None:
    """Whole or not at all: a power cut leaves the old one."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = file.with_suffix(".new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as written:
        written.write(state.model_dump_json())
        written.flush()
        os.fsync(written.fileno())
    fresh.replace(file)


def _now() -> datetime:
    return datetime.now(UTC)


def _filters(clauses: Sequence[Clause], mapping: Mapping) -> Filters:
    """For a back end; those of Haru's own memories in the form in which it is fastest."""
    if not wire.MAPPING["fields"].keys() <= mapping.fields.keys():
        return Filters(clauses=tuple(clauses))
    own = {each.field: each.values[0] for each in clauses if each.field in _OWN and len(each.values) == 1}
    rest = tuple(each for each in clauses if each.field not in own)
    try:
        return Filters.model_validate({"status": None, **own, "clauses": rest})
    except ValidationError:  # a status that no memory has
        return Filters(status=None, clauses=tuple(clauses))


def _with_learned(fresh: Carried, before: Memory | None) -> Carried:
    """Content is replaced as a whole; which questions the document answered is not its content and stays."""
    if before is None or not before.expected_queries:
        return fresh
    queries = learned(before.expected_queries, fresh.expected_queries)
    return Carried.model_validate({**dict(fresh), "expected_queries": queries})


def _content(memory: Memory) -> dict[str, JsonValue]:
    return memory.content if isinstance(memory, Carried) else {}


def _document(memory: Memory) -> Document:
    return Document.model_validate({"id": memory.id, "content": _content(memory)})


def _results(
    question: str, ranked: Sequence[tuple[float, Memory]], mapping: Mapping, searchable: Sequence[str]
) -> list[Result]:
    found: list[Result] = []
    for score, memory in ranked:
        content = _content(memory)
        why = account(question, content, mapping, searchable)
        found.append(
            Result(
                id=memory.id,
                score=round(score, 6),
                document=content,
                highlights=why.highlights,
                explanation=why.explanation,
                matched_fields=why.fields,
                matched_terms=why.terms,
            )
        )
    return found
