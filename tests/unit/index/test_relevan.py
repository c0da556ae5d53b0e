"""The client of the hosted search API: what it sends, what it makes of answers, and what it does in trouble."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from haru import wire
from haru.errors import HaruError, IndexBusy, IndexFailure, IndexRefused, IndexUnavailable, SettingsError
from haru.index.relevan import RelevanIndex
from haru.memory import Evidence, Feedback, Memory, SearchRef
from haru.ports import Filters
from haru.recall.desk import RecallSettings
from haru.recall.sessions import Sessions
from haru.testing.index_server import KEY, READ_KEY, served
from haru.testing.scripted_server import Asked, Said, ScriptedServer, Trouble

Make = Callable[..., Memory]
SECRET = "sk-never-to-be-shown"
INDEX = "/v1/home/indexes/haru-memory"


class Service:
    """A search service that holds one memory, and more to be said of each call."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.trouble: Callable[[Asked], Said | Trouble | None] = lambda _: None

    def __call__(self, asked: Asked) -> Said | Trouble:
        return self.trouble(asked) or self._usual(asked)

    def _usual(self, asked: Asked) -> Said:
        document = {"id": self.memory.id, "content": wire.content(self.memory), "surprise": 1}
        match asked.method, asked.path.partition("?")[0].removeprefix(INDEX):
            case _, "/v1/organizations":
                return Said([{"id": "org-1", "slug": "home", "name": "Home", "plan": "new"}])
            case "GET", "":
                return Said({"status": "ready", "documentsAccepted": 1, "documentsIndexed": 1})
            case "GET", "/mappings":
                return Said([{"revision": 1, "relevanMapping": wire.MAPPING}])
            case "POST", "/search":
                result = {"id": self.memory.id, "score": 3.1, "document": document["content"], "novelty": []}
                return Said({"took": 1, "results": [result], "searchContext": {"queryId": "q-1", "sessionId": "s-1"}})
            case "GET", "/documents":
                return Said({"documents": [document], "nextCursor": None})
        return Said({"accepted": 1}, 202)


@pytest.fixture
def service(memory: Make) -> Service:
    return Service(memory("The user's dog is called Biscuit.", tags=("dog",)))


@pytest.fixture
async def server(service: Service) -> AsyncIterator[ScriptedServer]:
    async with ScriptedServer(service) as running:
        yield running


@pytest.fixture
async def index(server: ScriptedServer) -> AsyncIterator[RelevanIndex]:
    """A client that has started."""
    client = RelevanIndex(server.url, SECRET)
    await client.start()
    server.asked.clear()
    yield client
    await client.aclose()


def says(said: Said | Trouble, to: str) -> Callable[[Asked], Said | Trouble | None]:
    return lambda asked: said if asked.path.partition("?")[0].endswith(to) else None


@pytest.mark.parametrize(
    ("status", "error", "told"),
    [
        (401, IndexRefused, "index.key"),
        (403, IndexRefused, "write key"),
        (404, IndexRefused, "index.name"),
        (400, IndexRefused, "index.url"),
        (429, IndexBusy, "asked to wait"),
        (500, IndexUnavailable, "tried again later"),
        (302, IndexRefused, "302"),
    ],
)
async def test_a_refusal_says_which_call_which_status_and_what_to_do(
    index: RelevanIndex, service: Service, status: int, error: type[IndexFailure], told: str
) -> None:
    """And neither the key nor what was asked."""
    service.trouble = says(Said({"message": f"no: Biscuit {SECRET}"}, status, {"location": "http://else"}), "/search")
    with pytest.raises(error, match=told) as refused:
        await index.search("what is Biscuit")
    shown = f"{refused.value} {refused.value!r} {refused.value.__cause__} {index!r}"
    assert f"({status})" in shown
    assert "POST" in shown
    assert "/search" in shown
    assert SECRET not in shown
    assert "Biscuit" not in shown


@pytest.mark.parametrize("trouble", ["resets", "breaks-off"])
async def test_a_broken_connection_is_no_answer(index: RelevanIndex, service: Service, trouble: Trouble) -> None:
    """Never an empty result."""
    service.trouble = says(trouble, "/search")
    with pytest.raises(IndexUnavailable):
        await index.search("dog")


@pytest.mark.parametrize(
    "body",
    [
        b"<html>proxy</html>",
        b"",
        b"[]",
        b"{}",
        b'{"results": {}}',
        b'{"results": [1], "searchContext": {}}',
        b"[" * 9999,
    ],
)
async def test_an_answer_of_another_shape_is_a_failure(index: RelevanIndex, service: Service, body: bytes) -> None:
    """What is missing is named."""
    service.trouble = says(Said(body), "/search")
    with pytest.raises(IndexUnavailable, match="answer"):
        await index.search("dog")


async def test_a_document_that_is_no_memory_is_passed_over(
    index: RelevanIndex, service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    """It is said, without its words; the others come back."""
    good = {"id": service.memory.id, "score": 2, "document": wire.content(service.memory)}
    odd = [{"id": "x", "score": 3, "document": {"text": 7, "rest": "Biscuit"}}, {"id": "y", "document": None}]
    answer = {"results": [*odd, good], "searchContext": {"queryId": "q"}}
    service.trouble = says(Said(answer), "/search")
    hits = (await index.search("dog")).hits
    assert [(hit.memory, hit.position) for hit in hits] == [(service.memory, 0)]
    assert "document x of the index is no memory" in caplog.text
    assert "Biscuit" not in caplog.text


@pytest.mark.parametrize("trouble", ["hangs", "drips", "resets", Said({"message": "wait"}, 429, {"retry-after": "30"})])
async def test_a_turn_never_waits_for_trouble(
    server: ScriptedServer, service: Service, trouble: Said | Trouble
) -> None:
    """Not for a retry either: what is at hand serves, and the search was tried once."""
    index = RelevanIndex(server.url, SECRET)
    sessions = Sessions(index, None, RecallSettings(background_s=1.0))
    session = sessions.open()
    session.start()
    await asyncio.sleep(0.5)
    service.trouble = says(trouble, "/search")
    began = time.perf_counter()
    recollection = await session.recall("what's my dog called")
    assert time.perf_counter() - began < 0.6
    assert recollection.memories == (service.memory,)
    assert sum(asked.path.endswith("/search") for asked in server.asked) == 1
    await asyncio.sleep(1.0)
    await sessions.aclose()
    await index.aclose()


@pytest.mark.parametrize(
    ("headers", "body", "least_s"),
    [({"retry-after": "1"}, {}, 1.0), ({}, {"retryAfterSeconds": 0.3}, 0.3), ({"retry-after": "soon"}, {}, 1.0)],
)
async def test_a_write_waits_as_long_as_it_is_asked_to(
    index: RelevanIndex, service: Service, memory: Make, headers: dict[str, str], body: object, least_s: float
) -> None:
    """By header or body, a second where neither tells; then it goes through."""
    left = [Said(body, 429, headers)]
    service.trouble = lambda asked: left.pop() if left and asked.path.endswith("/_bulk") else None
    began = time.perf_counter()
    await index.put([memory("The user's cat is called Mochi.")])
    assert least_s <= time.perf_counter() - began < least_s + 2


async def test_a_write_outlives_a_short_outage(index: RelevanIndex, server: ScriptedServer, service: Service) -> None:
    """Writes are by id, so that a second try changes nothing."""
    left: list[Said | Trouble] = ["resets", Said({}, 503)]
    service.trouble = lambda asked: left.pop() if left and asked.path.endswith("/_bulk") else None
    await index.put([service.memory])
    assert sum(asked.path.endswith("/_bulk") for asked in server.asked) == 3


async def test_one_pool_of_connections(index: RelevanIndex, server: ScriptedServer) -> None:
    """One after the other, calls share a connection; the key goes with each."""
    for _ in range(10):
        await index.search("dog")
    assert server.connections == 1
    assert {asked.headers["x-api-key"] for asked in server.asked} == {SECRET}


async def test_a_search_is_sent_as_the_contract_says(index: RelevanIndex, server: ScriptedServer) -> None:
    """Filters, size within bounds, whose search it is."""
    await index.search("what's my dog called", size=500, filters=Filters(person="ana"), customer_id="smith")
    assert server.asked[-1].json == {
        "query": "what's my dog called",
        "size": 100,
        "customerId": "smith",
        "filters": [{"field": "status", "value": "active"}, {"field": "person", "value": "ana"}],
    }


async def test_feedback_goes_back_with_the_ids_of_its_search(
    index: RelevanIndex, server: ScriptedServer, memory: Make
) -> None:
    """Positions count from 0; where no search surfaced it there is nothing to be said."""
    found = await index.search("dog")
    when = found.hits[0].memory.created_at
    await index.feedback(Feedback(id="f", memory_id=found.hits[0].memory.id, ref=found.ref, position=0, at=when))
    assert server.asked[-1].path == "/v1-beta/home/indexes/haru-memory/feedback"
    sent = server.asked[-1].json
    assert isinstance(sent, dict)
    assert (sent["actionName"], sent["queryId"], sent["sessionId"], sent["position"]) == (
        "llm_judgment",
        "q-1",
        "s-1",
        0,
    )
    asked = len(server.asked)
    await index.feedback(Feedback(id="g", memory_id="mem-1", ref=SearchRef(), position=0, at=when))
    assert len(server.asked) == asked


async def test_relevan_itself_gets_content_words(server: ScriptedServer) -> None:
    """Its documentation advises so; another service may be told to get them too."""
    index = RelevanIndex(server.url, SECRET, as_said=False)
    await index.search("hey Haru, what is my dog called?")
    assert server.asked[-1].json["query"] == "dog"  # type: ignore[index]
    asked = len(server.asked)
    assert (await index.search("so, um, please")).hits == ()
    assert len(server.asked) == asked
    await index.aclose()


@pytest.mark.parametrize(
    ("organisations", "wanted", "told"),
    [
        ([], "", "knows no organisation"),
        ([{"id": "a", "slug": "one"}, {"id": "b", "slug": "two"}], "", "one, two"),
        ([{"id": "a", "slug": "one"}], "two", "knows no organisation two"),
    ],
)
async def test_the_organisation_must_be_clear(
    server: ScriptedServer, service: Service, organisations: object, wanted: str, told: str
) -> None:
    """Nobody guesses whose index it is."""
    service.trouble = says(Said(organisations), "/organizations")
    index = RelevanIndex(server.url, SECRET, organisation=wanted)
    with pytest.raises(IndexRefused, match=told):
        await index.start()
    await index.aclose()


@pytest.mark.parametrize(
    ("url", "key", "name"),
    [
        ("api.relevan.dev", "k", "haru"),
        ("http://x", "", "haru"),
        ("http://x", "k\n", "haru"),
        ("http://x", "k", "Haru!"),
    ],
)
def test_what_cannot_be_an_address_a_key_or_a_name_is_refused(url: str, key: str, name: str) -> None:
    """Before anything is sent."""
    with pytest.raises(SettingsError):
        RelevanIndex(url, key, name=name)


def test_a_memory_travels_whole(memory: Make) -> None:
    """Every field, also those that no search looks at."""
    full = memory(
        'Ana\'s "dog" is called Biscuit.',
        subject="dog Biscuit",
        tags=("dog, big", "Biscuit"),
        about="Ana",
        expected_queries=("dog", "a, b"),
        evidence=(Evidence(session="s", turns=("t-1",), quote="my dog, Biscuit"),),
        valid_until="2027-01-01",
        supersedes=("mem-0",),
        sensitive=True,
        last_used_at="2026-12-01T10:00:00Z",
        importance=5,
        use_count=7,
    )
    sent = json.loads(json.dumps(wire.content(full)))
    assert wire.memory(full.id, sent) == full
    assert sent.keys() <= wire.MAPPING["fields"].keys()
    assert None not in sent.values()
    assert "" not in sent.values()


async def test_a_read_key_reads(tmp_path: Path, memory: Make) -> None:
    """And is refused where it would write; what to do is said."""
    async with served(tmp_path) as url:
        writing, reading = RelevanIndex(url, KEY), RelevanIndex(url, READ_KEY)
        await writing.put([memory("The user's dog is called Biscuit.")])
        assert len((await reading.search("dog")).hits) == 1
        with pytest.raises(IndexRefused, match="write key"):
            await reading.put([memory("The user's cat is called Mochi.")])
        wrong = RelevanIndex(url, "no-such-key")
        with pytest.raises(HaruError, match="index\\.key"):
            await wrong.search("dog")
        for each in (writing, reading, wrong):
            await each.aclose()
