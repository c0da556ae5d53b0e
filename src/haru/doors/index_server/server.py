"""Server: the routes. What no public material states of the contract (listing, one document, removal) is inferred."""

# Annotations are evaluated here: FastAPI reads them, and some name what the application is made with.

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, cast

from fastapi import Depends, FastAPI, Header, Request
from fastapi import Path as PathParameter
from fastapi import Query as Parameter
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from haru.doors.index_server import collection as collections
from haru.doors.index_server.collection import BackEnd, Collection, Faulty
from haru.doors.index_server.keys import Grant, Keys
from haru.doors.index_server.limit import Limit
from haru.doors.index_server.shapes import (
    Accepted,
    Answer,
    Content,
    Document,
    DocumentId,
    Event,
    IndexRecord,
    IndexState,
    Listed,
    Mapping,
    Name,
    NewIndex,
    Organization,
    Query,
    Refused,
    Revision,
    Told,
    Upload,
    Wait,
)
from haru.errors import IndexBusy, IndexFailure, IndexRefused

logger = logging.getLogger(__name__)

MOST_BODY_BYTES = 32 * 2**20
RECORD = "index.json"

Opener = Callable[[str, str, Path], Awaitable[BackEnd]]
"""Opens the back end of an index: organisation, name, folder."""


class Indexes:
    """All indexes of a server, a folder each; opened at first use.

    Args:
        folder: where they stand.
        opener: opens a back end.
    """

    def __init__(self, folder: Path, opener: Opener) -> None:
        self._folder = folder
        self._opener = opener
        self._opened: dict[tuple[str, str], Collection] = {}
        self._opening = asyncio.Lock()

    async def find(self, organization: str, name: str) -> Collection | None:
        """An index, if there is one."""
        async with self._opening:
            key = (organization, name)
            file = self._folder / organization / name / RECORD
            if key not in self._opened and await asyncio.to_thread(file.is_file):
                self._opened[key] = await collections.opened(file, self._open(*key))
            return self._opened.get(key)

    async def make(self, organization: str, wanted: NewIndex) -> Collection | None:
        """A new index; none where one has that name."""
        if await self.find(organization, wanted.name):
            return None
        async with self._opening:
            file = self._folder / organization / wanted.name / RECORD
            made = await collections.made(file, organization, wanted, self._open(organization, wanted.name))
            self._opened[organization, wanted.name] = made
            return made

    async def names(self, organization: str) -> list[str]:
        """Of all indexes of an organisation."""
        found = await asyncio.to_thread(lambda: sorted((self._folder / organization).glob(f"*/{RECORD}")))
        return [file.parent.name for file in found]

    async def aclose(self) -> None:
        """Close all."""
        await asyncio.gather(*(each.aclose() for each in self._opened.values()))
        self._opened.clear()

    def _open(self, organization: str, name: str) -> Callable[[Path], Awaitable[BackEnd]]:
        return lambda folder: self._opener(organization, name, folder)


def application(indexes: Indexes, keys: Keys, *, searches_a_minute: int = 0) -> FastAPI:
    """The server, to be run by any ASGI server. It closes the indexes at its end."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        yield
        await indexes.aclose()

    app = FastAPI(
        title="Haru index server",
        description="Search for memories and other short documents. Send the key as `x-api-key`.",
        version="1",
        openapi_url="/openapi",
        lifespan=lifespan,
        responses={400: {"model": Told}, 401: {"model": Refused}, 403: {"model": Told}, 413: {"model": Told}},
    )
    app.add_middleware(_Bounded)
    _answer_failures(app)
    limit = Limit(searches_a_minute)

    def granted(x_api_key: Annotated[str, Header(description="The key of an organisation.")] = "") -> Grant:
        grant = keys.grant(x_api_key)
        if grant is None:
            raise HTTPException(401)
        return grant

    def reading(org: Annotated[str, PathParameter(max_length=64)], grant: Annotated[Grant, Depends(granted)]) -> str:
        if org not in {grant.organization, f"org-{grant.organization}"}:
            raise HTTPException(403, "the key belongs to another organisation")
        return grant.organization

    def writing(org: Annotated[str, Depends(reading)], grant: Annotated[Grant, Depends(granted)]) -> str:
        if grant.access != "write":
            raise HTTPException(403, "a read key may not write")
        return org

    async def _found(org: str, index: str) -> Collection:
        found = await indexes.find(org, index)
        if found is None:
            raise HTTPException(404, "Index not found")
        return found

    async def to_read(index: Name, org: Annotated[str, Depends(reading)]) -> Collection:
        return await _found(org, index)

    async def to_write(index: Name, org: Annotated[str, Depends(writing)]) -> Collection:
        return await _found(org, index)

    missing: dict[int | str, dict[str, Any]] = {404: {"model": Told}}
    under = "/v1/{org}/indexes/{index}"

    @app.get("/v1/organizations")
    async def organizations(grant: Annotated[Grant, Depends(granted)]) -> list[Organization]:
        """Whom the key belongs to."""
        slug = grant.organization
        return [Organization(id=f"org-{slug}", slug=slug, name=slug)]

    @app.get("/v1/{org}/indexes")
    async def names(org: Annotated[str, Depends(reading)]) -> list[IndexRecord]:
        """All indexes (inferred)."""
        found = [await indexes.find(org, name) for name in await indexes.names(org)]
        return [each.record for each in found if each]

    @app.post("/v1/{org}/indexes", status_code=201, responses={409: {"model": Told}})
    async def make(wanted: NewIndex, org: Annotated[str, Depends(writing)]) -> IndexRecord:
        """Make an index."""
        made = await indexes.make(org, wanted)
        if made is None:
            raise HTTPException(409, f"there is an index {wanted.name}")
        return made.record

    @app.get(under, responses=missing)
    async def state(index: Annotated[Collection, Depends(to_read)]) -> IndexState:
        """An index, and how far indexing is."""
        return await index.state()

    @app.post(f"{under}/mappings", status_code=201, responses=missing)
    async def deploy(mapping: Mapping, index: Annotated[Collection, Depends(to_write)]) -> Revision:
        """Deploy a mapping. No documents are taken before there is one."""
        return await index.deploy(mapping)

    @app.get(f"{under}/mappings", responses=missing)
    async def mappings(index: Annotated[Collection, Depends(to_read)]) -> list[Revision]:
        """All mappings; the one with the highest revision is live."""
        return index.revisions

    @app.post(f"{under}/documents/_bulk", status_code=202, responses=missing)
    async def bulk(upload: Upload, index: Annotated[Collection, Depends(to_write)]) -> Accepted:
        """Add or replace documents, all or none."""
        await index.put(upload.documents)
        return Accepted(accepted=len(upload.documents), document_ids=[each.id for each in upload.documents])

    @app.get(f"{under}/documents", responses=missing)
    async def page(
        index: Annotated[Collection, Depends(to_read)],
        limit: Annotated[int, Parameter(ge=1, le=1000)] = 100,
        cursor: Annotated[str | None, Parameter(max_length=2000)] = None,
    ) -> Listed:
        """A page of documents (inferred)."""
        return await index.page(cursor, limit)

    @app.get(f"{under}/documents/{{key}}", responses=missing)
    async def one(key: DocumentId, index: Annotated[Collection, Depends(to_read)]) -> Document:
        """One document (inferred)."""
        found = await index.get(key)
        if found is None:
            raise HTTPException(404, "Document not found")
        return found

    @app.put(f"{under}/documents/{{key}}", status_code=202, responses=missing)
    async def put(key: DocumentId, body: Content, index: Annotated[Collection, Depends(to_write)]) -> Accepted:
        """Add or replace one document (inferred)."""
        await index.put([Document(id=key, content=body.content)])
        return Accepted(accepted=1, document_ids=[key])

    @app.delete(f"{under}/documents/{{key}}", status_code=202, responses=missing)
    async def remove(key: DocumentId, index: Annotated[Collection, Depends(to_write)]) -> Accepted:
        """Remove a document for good (inferred)."""
        if not await index.remove(key):
            raise HTTPException(404, "Document not found")
        return Accepted(accepted=1, document_ids=[key])

    @app.post(f"{under}/search", responses={**missing, 429: {"model": Wait}})
    async def search(
        query: Query, index: Annotated[Collection, Depends(to_read)], org: Annotated[str, Depends(reading)]
    ) -> Answer:
        """Find documents by a question as it was said."""
        if wait_s := limit.wait_s(org, asyncio.get_running_loop().time()):
            raise HTTPException(429, "too many searches in a minute", {"retry-after": str(wait_s)})
        return await index.search(query)

    @app.post("/v1-beta/{org}/indexes/{index}/feedback", status_code=202, responses=missing)
    async def feedback(event: Event, index: Annotated[Collection, Depends(to_read)]) -> Told:
        """What somebody made of a search."""
        await index.feedback(event)
        return Told(message="accepted")

    @app.get(f"{under}/skill", responses=missing, response_class=PlainTextResponse)
    async def skill(index: Annotated[Collection, Depends(to_read)]) -> PlainTextResponse:
        """A guide for agents, made from the mapping."""
        return PlainTextResponse(index.skill(), media_type="text/markdown")

    return app


def _answer_failures(app: FastAPI) -> None:
    """Every failure as JSON that says what is wrong, and never what the documents hold."""

    @app.exception_handler(HTTPException)
    async def refused(_: Request, error: Exception) -> JSONResponse:
        error = cast("HTTPException", error)
        if error.status_code == 401:
            return JSONResponse({"error": "missing or wrong key: send it as x-api-key"}, 401)
        body: dict[str, object] = {"message": str(error.detail)}
        if wait := (error.headers or {}).get("retry-after"):
            body["retryAfterSeconds"] = int(wait)
        return JSONResponse(body, error.status_code, error.headers)

    @app.exception_handler(RequestValidationError)
    async def malformed(_: Request, error: Exception) -> JSONResponse:
        faults = cast("RequestValidationError", error).errors()
        told = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in faults[:20])
        return JSONResponse({"message": told}, 400)

    @app.exception_handler(Faulty)
    async def faulty(_: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"message": str(error)}, 400)

    @app.exception_handler(ValidationError)
    async def unreadable(_: Request, error: Exception) -> JSONResponse:
        faults = cast("ValidationError", error).errors(include_input=False, include_url=False)
        told = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['type']}" for each in faults[:20])
        return JSONResponse({"message": told}, 400)

    @app.exception_handler(IndexFailure)
    async def failed(_: Request, error: Exception) -> JSONResponse:
        if isinstance(error, IndexRefused):
            return JSONResponse({"message": str(error)}, 400)
        logger.warning("the back end failed: %s", error)
        wait = str(round(error.retry_after_s or 1)) if isinstance(error, IndexBusy) else "1"
        return JSONResponse({"message": "the back end cannot be used now"}, 503, {"retry-after": wait})


class _Bounded:
    """Refuses a body that is too long before it is read whole."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        read = 0

        async def bounded() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > MOST_BODY_BYTES:
                raise HTTPException(413, f"the body is longer than {MOST_BODY_BYTES // 2**20} MB")
            return message

        await self._app(scope, bounded, send)
