"""RelevanIndex: memories in a hosted search, over the contract that Relevan and `haru index serve` speak."""

from __future__ import annotations

import asyncio
import heapq
import logging
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import quote

from haru import wire, words
from haru.errors import IndexRefused, IndexUnavailable, SettingsError
from haru.index.calls import Calls, NotThere
from haru.memory import HOUSEHOLD, Feedback, Memory, SearchRef, Status
from haru.order import cursor_at, place, place_of
from haru.ports import ACTIVE, Filters, Hit, Hits, Page

logger = logging.getLogger(__name__)

BULK = 1000
"""Most documents a call."""
MOST_HITS = 100
MOST_QUERY_CHARS = 8_000
"""A podcast left running must not cost the deadline."""
_POLL_S = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Routes:
    """What no public material states about the service, all of it in one place: inferred, and open to mending."""

    documents: str = "/v1/{org}/indexes/{index}/documents"
    """Lists documents."""
    document: str = "/v1/{org}/indexes/{index}/documents/{id}"
    """One document: GET and DELETE."""
    limit: str = "limit"
    """Name of the parameter with the size of a page."""
    cursor: str = "cursor"
    """Name of the one that leads on."""
    page: int = 1000
    """Documents a page."""


class RelevanIndex:
    """Memories in one index of one organisation. Start it before use.

    Args:
        url: base address.
        key: access key; never shown.
        organisation: its slug or id; may be empty where the key belongs to one alone.
        name: of the index; made where it is not there.
        as_said: send questions as they were said, to a search that understands speech as Haru's own does; otherwise
            their content words alone. Without it, Haru's own server and whatever else is not Relevan's gets all words.
        routes: what is inferred of the contract.
        indexed_s: how long to wait until what was written can be found.

    Raises:
        SettingsError: the address, the key or the name cannot be one.
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        organisation: str = "",
        name: str = "haru-memory",
        as_said: bool | None = None,
        routes: Routes | None = None,
        indexed_s: float = 1800.0,
    ) -> None:
        if not wire.INDEX_NAME.fullmatch(name):
            raise SettingsError(f"index.name must be lower-case letters, digits and hyphens, not {name!r}")
        self._calls = Calls(url, key)
        self._as_said = not self._calls.host.endswith("relevan.dev") if as_said is None else as_said
        self._organisation = organisation
        self._name = name
        self._routes = routes or Routes()
        self._indexed_s = indexed_s
        self._path = ""
        self._starting = asyncio.Lock()

    def __repr__(self) -> str:
        return f"RelevanIndex({self._calls.host}, {self._name})"

    async def start(self) -> None:
        """Find the organisation, and make index and mapping where they are not there.

        Raises:
            IndexFailure: the service cannot be used; the message says what to mend.
        """
        async with self._starting:
            if not self._path:
                path = f"/v1/{quote(await self._resolved(), safe='')}/indexes/{self._name}"
                await self._prepare(path)
                self._path = path

    async def search(
        self, query: str, *, size: int = 10, filters: Filters = ACTIVE, customer_id: str = HOUSEHOLD
    ) -> Hits:
        """See `haru.ports.MemoryIndex.search`. One try: who is asked to wait falls back at once."""
        path = await self._ready()
        sent = query[:MOST_QUERY_CHARS] if self._as_said else " ".join(words.content(query))
        if not sent.strip():
            return Hits(ref=SearchRef(query_id=f"none-{secrets.token_hex(8)}"))
        body: dict[str, Any] = {"query": sent, "size": min(size, MOST_HITS), "customerId": customer_id}
        if clauses := wire.filters(filters):
            body["filters"] = clauses
        answer = _record(await self._calls.now("POST", f"{path}/search", body), "search")
        context = _record(answer.get("searchContext"), "searchContext")
        ref = SearchRef(query_id=str(context.get("queryId") or ""), session_id=str(context.get("sessionId") or ""))
        found = [
            (memory, float(score))
            for each in _list(answer, "results")
            if (memory := _memory(each, "document")) and isinstance(score := each.get("score", 0.0), int | float)
        ]
        hits = [Hit(memory=memory, score=score, position=n) for n, (memory, score) in enumerate(found[:size])]
        return Hits(hits=tuple(hits), ref=ref)

    async def page(self, *, cursor: str | None = None, limit: int = 1000, filters: Filters = ACTIVE) -> Page:
        """See `haru.ports.MemoryIndex.page`. All documents are listed: the service has no order that is known."""
        last = None if cursor is None else place_of(cursor)
        wanted = [
            memory
            async for memory in self._all()
            if filters.status in {None, memory.status}
            and filters.person in {None, memory.person}
            and (last is None or place(memory) > last)
        ]
        shown = heapq.nsmallest(limit, wanted, key=place)
        return Page(memories=tuple(shown), cursor=cursor_at(place(shown[-1])) if len(wanted) > limit else None)

    async def get(self, ids: Sequence[str]) -> list[Memory]:
        """See `haru.ports.MemoryIndex.get`."""
        gate = asyncio.Semaphore(_AT_ONCE)

        async def one(key: str) -> Memory | None:
            async with gate:
                return await self._get(key)

        found = await asyncio.gather(*(one(key) for key in ids))
        return [memory for memory in found if memory]

    async def put(self, memories: Sequence[Memory]) -> None:
        """See `haru.ports.MemoryIndex.put`. More than a thousand go in several calls, each all or none."""
        path = await self._ready()
        for at in range(0, len(memories), BULK):
            documents = [{"id": each.id, "content": wire.content(each)} for each in memories[at : at + BULK]]
            await self._calls.patiently("POST", f"{path}/documents/_bulk", {"documents": documents})
        if memories:
            await self._indexed(path)

    async def replace_all(self, memories: Sequence[Memory]) -> None:
        """Hold these memories and no others. Cut short, it holds some of both, and can be begun anew."""
        kept = {memory.id for memory in memories}
        gone = [memory.id async for memory in self._all() if memory.id not in kept]
        await self.put(memories)
        await self.erase(gone)

    async def erase(self, ids: Sequence[str]) -> None:
        """See `haru.ports.MemoryIndex.erase`."""
        path = await self._ready()
        for key in ids:
            try:
                await self._calls.patiently("DELETE", self._document(key))
            except NotThere:
                continue
        if ids:
            await self._indexed(path)

    async def feedback(self, event: Feedback) -> None:
        """See `haru.ports.MemoryIndex.feedback`. One without a search of its own teaches nothing."""
        path = await self._ready()
        if not event.ref.query_id or event.ref.query_id.startswith("none-"):
            return
        body = {
            "actionName": "llm_judgment",
            "queryId": event.ref.query_id,
            "sessionId": event.ref.session_id,
            "objectId": event.memory_id,
            "position": event.position,
            "customerId": event.customer_id,
            "source": "production",
        }
        await self._calls.patiently("POST", f"{path.replace('/v1/', '/v1-beta/', 1)}/feedback", body)

    async def stats(self) -> dict[str, object]:
        """Counts for a person, and what the service tells of the index. All documents are listed for it."""
        answer = _record(await self._calls.patiently("GET", await self._ready()), "index")
        memories = [memory async for memory in self._all()]
        return {
            "status": dict(Counter(str(memory.status) for memory in memories)),
            "kind": dict(Counter(str(memory.kind) for memory in memories if memory.status is Status.ACTIVE)),
            "embedder": f"that of {self._calls.host}",
            "index": self._name,
            **{key: answer.get(key) for key in ("documentsAccepted", "documentsIndexed", "readyToSearch")},
        }

    async def ready(self) -> None:
        """Until what was written can be found."""
        await self._indexed(await self._ready())

    async def warm(self) -> None:
        """See `haru.ports.MemoryIndex.warm`."""
        await self._calls.now("GET", await self._ready())

    async def aclose(self) -> None:
        """See `haru.ports.MemoryIndex.aclose`."""
        await self._calls.aclose()

    # -- preparing

    async def _ready(self) -> str:
        if not self._path:
            await self.start()
        return self._path

    async def _resolved(self) -> str:
        """The organisation's slug, or its id where it has none."""
        answer = await self._calls.patiently("GET", "/v1/organizations")
        known = [_record(each, "organization") for each in _listed(answer, "organizations")]
        wanted = self._organisation
        fitting = [each for each in known if wanted in {"", each.get("slug"), each.get("id")}]
        names = ", ".join(str(each.get("slug") or each.get("id")) for each in known)
        if len(fitting) > 1:
            raise IndexRefused(
                f"the key at {self._calls.host} belongs to several: set index.organisation to one of {names}"
            )
        if not fitting:
            raise IndexRefused(
                f"{self._calls.host} knows no organisation {wanted or 'of this key'}; it lists: {names or 'none'}"
            )
        return str(fitting[0].get("slug") or fitting[0]["id"])

    async def _prepare(self, path: str) -> None:
        try:
            await self._calls.patiently("GET", path)
        except NotThere:
            body = {"name": self._name, "displayName": "Haru memory", "description": "What the assistant remembers"}
            await self._calls.patiently("POST", path.rpartition("/")[0], body)
        deployed = _listed(await self._calls.patiently("GET", f"{path}/mappings"), "mappings")
        newest = max(deployed, key=lambda each: each.get("revision", 0)) if deployed else {}
        fields = _record(_record(newest.get("relevanMapping") or {}, "relevanMapping").get("fields") or {}, "fields")
        if not wire.MAPPING["fields"].keys() <= fields.keys():
            await self._calls.patiently("POST", f"{path}/mappings", wire.MAPPING)

    # -- waiting and listing

    async def _indexed(self, path: str) -> None:
        """Until all that was accepted can be found.

        Raises:
            IndexUnavailable: it takes too long; what was accepted will be found later.
        """
        gives_up_at = asyncio.get_running_loop().time() + self._indexed_s
        tries = 0
        while True:
            record = _record(await self._calls.patiently("GET", path), "index")
            if record.get("status") == "failed":
                raise IndexRefused(f"indexing has failed at {self._calls.host}: look at index {self._name} there")
            if record.get("documentsIndexed") == record.get("documentsAccepted"):
                return
            if asyncio.get_running_loop().time() >= gives_up_at:
                raise IndexUnavailable(f"{self._calls.host} has taken what was written and still does not find it")
            await asyncio.sleep(_POLL_S[min(tries, len(_POLL_S) - 1)])
            tries += 1

    async def _all(self) -> AsyncIterator[Memory]:
        """Every memory, in the service's own order."""
        await self._ready()
        path = self._filled(self._routes.documents)
        parameters: dict[str, str | int] = {self._routes.limit: self._routes.page}
        seen: set[str] = set()
        while True:
            answer = await self._calls.patiently("GET", path, parameters=parameters)
            fresh = [each for each in _listed(answer, *_LISTS) if str(each.get("id")) not in seen]
            seen |= {str(each.get("id")) for each in fresh}
            for each in fresh:
                if memory := _memory(each, "content"):
                    yield memory
            record = cast("dict[str, object]", answer) if isinstance(answer, dict) else {}
            leads_on = record.get("nextCursor") or record.get("cursor")
            if not fresh or not leads_on:
                return
            parameters[self._routes.cursor] = str(leads_on)

    async def _get(self, key: str) -> Memory | None:
        await self._ready()
        try:
            answer = await self._calls.patiently("GET", self._document(key))
        except NotThere:
            return None
        return _memory({"id": key, **_record(answer, "document")}, "content")

    def _document(self, key: str) -> str:
        return self._filled(self._routes.document).replace("{id}", quote(key, safe=""))

    def _filled(self, route: str) -> str:
        _, _, org, _, name = self._path.split("/")
        return route.replace("{org}", org).replace("{index}", name)


_LISTS = ("documents", "items", "results", "data")


def _record(value: object, what: str) -> dict[str, Any]:
    """A JSON object.

    Raises:
        IndexUnavailable: it is none.
    """
    if not isinstance(value, dict):
        raise IndexUnavailable(f"the search service's answer has no {what}, or not as an object")
    return cast("dict[str, Any]", value)


def _list(record: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    value = record.get(key)
    if not isinstance(value, list):
        raise IndexUnavailable(f"the search service's answer has no list {key}")
    return [_record(each, f"object in {key}") for each in cast("list[object]", value)]


def _listed(answer: object, *keys: str) -> list[dict[str, Any]]:
    """A bare list, or the one under the first of some keys."""
    if isinstance(answer, list):
        return _list({"list": answer}, "list")
    record = _record(answer, keys[0])
    return _list(record, next((key for key in keys if key in record), keys[0]))


def _memory(document: Mapping[str, Any], body: str) -> Memory | None:
    """The memory in a document; one that holds none is passed over, and said."""
    key = str(document.get("id") or "")
    content = document.get(body) or document.get("content") or document.get("document") or document
    try:
        return wire.memory(key, content)
    except ValueError as error:
        logger.warning("document %s of the index is no memory (%s): passed over", key, error)
        return None
