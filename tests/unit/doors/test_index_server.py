"""The index server, as any client of the contract meets it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from haru import wire
from haru.embed.static import StaticEmbedder
from haru.testing.index_server import KEY, READ_KEY, served
from haru.testing.postgres import database

INDEX = "/v1/home/indexes/recipes"
MAPPING: dict[str, Any] = {
    "fields": {
        "doc_id": {"kind": "id", "use": ["filterable"]},
        "title": {"use": ["searchable", "highlightable"]},
        "steps": {"kind": "text", "use": ["searchable"]},
        "course": {"kind": "id", "use": ["filterable"]},
        "labels": {"kind": "text", "use": ["filterable"]},
        "minutes": {"kind": "number", "use": ["filterable", "sortable"]},
        "vegan": {"kind": "boolean", "use": ["filterable"]},
        "added": {"kind": "date", "use": ["filterable", "sortable"]},
        "nutrition": {"kind": "object", "use": []},
    }
}
RECIPES: list[dict[str, Any]] = [
    {
        "title": "Lentil soup with cumin", "steps": "Simmer the lentils. Add cumin and lemon.", "course": "main",
        "labels": ["winter", "cheap"], "minutes": 40, "vegan": True, "added": "2026-01-05T10:00:00.000Z",
    },
    {
        "title": "Apple pie", "steps": "Bake the apples under a crust.", "course": "dessert", "labels": ["autumn"],
        "minutes": 90, "vegan": False, "added": "2026-02-05T10:00:00.000Z", "nutrition": {"kcal": 400},
    },
    {
        "title": "Tomato soup", "steps": "Roast the tomatoes, then blend.", "course": "main", "labels": ["summer"],
        "minutes": 30, "vegan": True, "added": "2026-03-05T10:00:00.000Z",
    },
]  # fmt: skip
DOCUMENTS = [{"id": f"r-{n}", "content": {"doc_id": f"r-{n}", **each}} for n, each in enumerate(RECIPES)]


@pytest.fixture(params=["files", "postgres"])
async def url(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[str]:
    """A server over each back end."""
    postgres = database(request.getfixturevalue("postgres")) if request.param == "postgres" else ""
    async with served(tmp_path, StaticEmbedder(), postgres=postgres) as address:
        yield address


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody with the write key."""
    async with httpx.AsyncClient(base_url=url, headers={"x-api-key": KEY}) as opened:
        yield opened


@pytest.fixture
async def recipes(client: httpx.AsyncClient) -> httpx.AsyncClient:
    """The same, with three recipes uploaded."""
    assert (await client.post("/v1/home/indexes", json={"name": "recipes"})).status_code == 201
    assert (await client.post(f"{INDEX}/mappings", json=MAPPING)).status_code == 201
    assert (await client.post(f"{INDEX}/documents/_bulk", json={"documents": DOCUMENTS})).status_code == 202
    return client


async def found(client: httpx.AsyncClient, query: str, **more: object) -> list[str]:
    answer = await client.post(f"{INDEX}/search", json={"query": query, **more})
    assert answer.status_code == 200, answer.text
    return [each["id"] for each in answer.json()["results"]]


async def test_a_public_client_from_beginning_to_end(client: httpx.AsyncClient) -> None:
    """Its sequence, call by call, with what it reads of each answer."""
    [organisation] = (await client.get("/v1/organizations")).json()
    org = organisation["slug"] or organisation["id"]
    path = f"/v1/{org}/indexes/recipes"
    assert (await client.get(path)).status_code == 404
    made = await client.post(f"/v1/{org}/indexes", json={"name": "recipes", "displayName": "Recipes"})
    assert (made.status_code, made.json()["indexName"]) == (201, "recipes")
    empty = (await client.get(path)).json()
    assert (empty["readyToSearch"], empty["documentsAcceptedChangedAt"]) == (False, None)

    early = await client.post(f"{path}/documents/_bulk", json={"documents": DOCUMENTS})
    assert (early.status_code, "mapping" in early.json()["message"]) == (400, True)
    assert (await client.post(f"{path}/mappings", json=MAPPING)).json()["revision"] == 1
    assert [each["revision"] for each in (await client.get(f"{path}/mappings")).json()] == [1]
    accepted = await client.post(f"{path}/documents/_bulk", json={"documents": DOCUMENTS})
    assert (accepted.status_code, accepted.json()["accepted"]) == (202, 3)
    state = (await client.get(path)).json()
    assert state["status"] == "ready"
    assert state["documentsIndexed"] == state["documentsAccepted"] == 3
    assert state["readyToSearch"] is True

    question = {"query": "soup with cumin", "size": 5, "customerId": "household", "boost": {"tomato": 2}}
    filters = [{"field": "course", "value": "main"}, {"field": "minutes", "gte": 10, "lte": 60}]
    answer = (await client.post(f"{path}/search", json={**question, "filters": filters})).json()
    assert {each["id"] for each in answer["results"]} == {"r-0", "r-2"}
    best, context = answer["results"][0], answer["searchContext"]
    assert best["document"] == DOCUMENTS[0]["content"]
    assert best["highlights"]["title"] == ["Lentil <em>soup</em> with <em>cumin</em>"]
    assert "soup" in best["matchedTerms"]
    assert best["matchedFields"][0] == "title"
    assert context["totalHits"] >= 2
    assert set(context["searchableFields"]) == {"title", "steps"}

    pinned = {"query": "soup with cumin", "size": 1, "filters": [{"field": "doc_id", "value": "r-0"}]}
    why = (await client.post(f"{path}/search", json=pinned)).json()["results"]
    assert [each["id"] for each in why] == ["r-0"]
    assert "title" in why[0]["explanation"]

    event = {
        "actionName": "llm_judgment", "queryId": context["queryId"], "sessionId": context["sessionId"],
        "objectId": best["id"], "position": 0, "source": "eval",
    }  # fmt: skip
    told = await client.post(f"/v1-beta/{org}/indexes/recipes/feedback", json=event)
    assert told.status_code == 202
    skill = await client.get(f"{path}/skill")
    assert skill.headers["content-type"].startswith("text/markdown")
    assert "title, steps" in skill.text
    assert "Lentil" not in skill.text


@pytest.mark.parametrize(
    ("clause", "wanted"),
    [
        ({"field": "course", "value": "dessert"}, set()),
        ({"field": "course", "values": ["dessert", "main"]}, {"r-0", "r-2"}),
        ({"field": "labels", "value": "cheap"}, {"r-0"}),
        ({"field": "minutes", "gte": 40}, {"r-0"}),
        ({"field": "minutes", "lte": 40}, {"r-0", "r-2"}),
        ({"field": "minutes", "value": 30}, {"r-2"}),
        ({"field": "minutes", "value": "30"}, set()),
        ({"field": "vegan", "value": True}, {"r-0", "r-2"}),
        ({"field": "added", "gte": "2026-02-01T00:00:00.000Z", "lte": "2026-03-28T00:00:00.000Z"}, {"r-2"}),
    ],
)
async def test_filters(recipes: httpx.AsyncClient, clause: dict[str, Any], wanted: set[str]) -> None:
    """One value, one of several, a range; of a list, any element."""
    assert set(await found(recipes, "soup", filters=[clause])) == wanted


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ({"query": ""}, "query"),
        ({"query": "soup", "size": 0}, "size"),
        ({"query": "soup", "size": 101}, "size"),
        ({"query": "soup", "filters": [{"field": "steps", "value": "x"}]}, "steps"),
        ({"query": "soup", "filters": [{"field": "none", "value": "x"}]}, "none"),
        ({"query": "soup", "filters": [{"field": "course", "gte": "a"}]}, "course"),
        ({"query": "soup", "filters": [{"field": "minutes", "gte": "a"}]}, "minutes"),
        ({"query": "soup", "filters": [{"field": "minutes", "value": 1, "gte": 2}]}, "filters"),
        ({"query": "soup", "sort": [{"field": "title"}]}, "title"),
    ],
)
async def test_a_search_that_the_mapping_does_not_allow(
    recipes: httpx.AsyncClient, body: dict[str, Any], names: str
) -> None:
    """400, and the message names the field."""
    answer = await recipes.post(f"{INDEX}/search", json=body)
    assert (answer.status_code, names in answer.json()["message"]) == (400, True)


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ({"title": "x", "secret": "y"}, "secret"),
        ({"minutes": "long"}, "minutes"),
        ({"added": "yesterday"}, "added"),
        ({"vegan": "no"}, "vegan"),
        ({"minutes": True}, "minutes"),
    ],
)
async def test_one_wrong_document_rejects_the_batch(
    recipes: httpx.AsyncClient, content: dict[str, Any], names: str
) -> None:
    """The field is named, its value is not, and nothing of the batch is stored."""
    documents = [{"id": "good", "content": {"title": "Good soup"}}, {"id": "bad", "content": content}]
    answer = await recipes.post(f"{INDEX}/documents/_bulk", json={"documents": documents})
    assert (answer.status_code, names in answer.json()["message"]) == (400, True)
    assert "yesterday" not in answer.text
    assert (await recipes.get(f"{INDEX}/documents/good")).status_code == 404


async def test_documents_one_by_one(recipes: httpx.AsyncClient) -> None:
    """Put, read, listed page by page, removed for good; content is replaced as a whole."""
    await recipes.put(f"{INDEX}/documents/r-1", json={"content": {"title": "Cherry pie"}})
    assert (await recipes.get(f"{INDEX}/documents/r-1")).json() == {"id": "r-1", "content": {"title": "Cherry pie"}}
    seen: list[str] = []
    cursor = None
    while True:
        page = (
            await recipes.get(f"{INDEX}/documents", params={"limit": 2, **({"cursor": cursor} if cursor else {})})
        ).json()
        seen += [each["id"] for each in page["documents"]]
        cursor = page["nextCursor"]
        if cursor is None:
            break
    assert sorted(seen) == ["r-0", "r-1", "r-2"]
    assert (await recipes.delete(f"{INDEX}/documents/r-1")).status_code == 202
    assert (await recipes.delete(f"{INDEX}/documents/r-1")).status_code == 404
    assert await found(recipes, "cherry pie") == []
    assert (await recipes.get(f"{INDEX}/documents", params={"cursor": "nonsense"})).status_code == 400


async def test_results_in_an_order_of_a_field(recipes: httpx.AsyncClient) -> None:
    """Up or down."""
    for order, wanted in (("asc", ["r-2", "r-0"]), ("desc", ["r-0", "r-2"])):
        assert await found(recipes, "soup", sort=[{"field": "minutes", "order": order}]) == wanted


async def test_a_boost_brings_up_what_holds_the_word(recipes: httpx.AsyncClient) -> None:
    """Without it the other comes first."""
    assert (await found(recipes, "lentil soup"))[0] == "r-0"
    assert (await found(recipes, "lentil soup", boost={"tomato": 50}))[0] == "r-2"


async def test_a_question_as_it_is_said_finds_what_it_means(client: httpx.AsyncClient) -> None:
    """Nobody need take the filler out: the search understands speech."""
    await client.post("/v1/home/indexes", json={"name": "haru"})
    await client.post("/v1/home/indexes/haru/mappings", json=wire.MAPPING)
    texts = [
        "The user likes salted almonds as a snack.",
        "The user's dog is called Biscuit.",
        "The user lives in Denver.",
    ]
    documents = [
        {"id": f"mem-{n}", "content": {"mem_id": f"mem-{n}", "text": text, "status": "active",
         "created_at": "2026-11-20T19:12:04.000Z", "updated_at": "2026-11-20T19:12:04.000Z"}}
        for n, text in enumerate(texts)
    ]  # fmt: skip
    assert (
        await client.post("/v1/home/indexes/haru/documents/_bulk", json={"documents": documents})
    ).status_code == 202
    body = {
        "query": "I am feeling peckish, any snack ideas for me?",
        "filters": [{"field": "status", "value": "active"}],
    }
    answer = (await client.post("/v1/home/indexes/haru/search", json=body)).json()
    assert [each["id"] for each in answer["results"]][:1] == ["mem-0"]


async def test_feedback_is_learned_from_within_bounds(recipes: httpx.AsyncClient) -> None:
    """A question in words that no document holds finds the one that was right; what is only a test teaches nothing."""
    question = "something for the xylophone evening"
    assert await found(recipes, question) == []
    for source, wanted in (("eval", []), ("production", ["r-1"])):
        answer = (await recipes.post(f"{INDEX}/search", json={"query": question})).json()
        event = {
            "actionName": "click", "queryId": answer["searchContext"]["queryId"], "objectId": "r-1", "position": 2,
            "source": source,
        }  # fmt: skip
        for _ in range(2):
            told = await recipes.post("/v1-beta/home/indexes/recipes/feedback", json=event)
            assert told.status_code == 202
        assert await found(recipes, "xylophone evening") == wanted
    assert (await found(recipes, "tomato soup"))[0] == "r-2"
    await recipes.post(f"{INDEX}/documents/_bulk", json={"documents": DOCUMENTS})
    assert await found(recipes, "xylophone evening") == ["r-1"]


@pytest.mark.parametrize(
    "event",
    [
        {"actionName": "applause", "queryId": "q", "objectId": "r-0"},
        {"actionName": "click", "objectId": "r-0"},
        {"actionName": "click", "queryId": "q"},
        {"actionName": "click", "queryId": "q", "objectId": "r-0", "position": -1},
    ],
)
async def test_an_event_that_is_none(recipes: httpx.AsyncClient, event: dict[str, Any]) -> None:
    """400; a verdict on a whole search has no object and is fine."""
    assert (await recipes.post("/v1-beta/home/indexes/recipes/feedback", json=event)).status_code == 400
    verdict = {"actionName": "search_judgment", "queryId": "q", "verdict": "good"}
    assert (await recipes.post("/v1-beta/home/indexes/recipes/feedback", json=verdict)).status_code == 202


@pytest.mark.parametrize("key", [None, "", "wrong", KEY[:-1], KEY + "x"])
async def test_without_a_key_nothing_is_told(url: str, key: str | None) -> None:
    """Whether or not there is such an index."""
    headers = {} if key is None else {"x-api-key": key}
    async with httpx.AsyncClient(base_url=url, headers=headers) as stranger:
        for path in ("/v1/organizations", INDEX, "/v1/other/indexes/x"):
            answer = await stranger.get(path)
            assert (answer.status_code, list(answer.json())) == (401, ["error"])


async def test_a_read_key_writes_nothing_and_nobody_reads_elsewhere(recipes: httpx.AsyncClient, url: str) -> None:
    """403 each."""
    async with httpx.AsyncClient(base_url=url, headers={"x-api-key": READ_KEY}) as reader:
        assert await found(reader, "apple pie") == ["r-1"]
        for method, path, body in (
            ("POST", "/v1/home/indexes", {"name": "mine"}),
            ("POST", f"{INDEX}/mappings", MAPPING),
            ("POST", f"{INDEX}/documents/_bulk", {"documents": DOCUMENTS}),
            ("DELETE", f"{INDEX}/documents/r-0", None),
            ("GET", "/v1/neighbours/indexes/recipes", None),
        ):
            assert (await reader.request(method, path, json=body)).status_code == 403, path


async def test_too_many_searches_are_asked_to_wait(tmp_path: Path) -> None:
    """With both hints."""
    async with (
        served(tmp_path, None, searches_a_minute=3) as url,
        httpx.AsyncClient(base_url=url, headers={"x-api-key": KEY}) as client,
    ):
        await client.post("/v1/home/indexes", json={"name": "recipes"})
        await client.post(f"{INDEX}/mappings", json=MAPPING)
        answers = [await client.post(f"{INDEX}/search", json={"query": "soup"}) for _ in range(4)]
        assert [each.status_code for each in answers] == [200, 200, 200, 429]
        assert int(answers[3].headers["retry-after"]) == answers[3].json()["retryAfterSeconds"]
        assert 1 <= answers[3].json()["retryAfterSeconds"] <= 60


async def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    """Records, mappings, documents."""
    async with served(tmp_path) as url, httpx.AsyncClient(base_url=url, headers={"x-api-key": KEY}) as client:
        await client.post("/v1/home/indexes", json={"name": "recipes", "description": "For dinner"})
        await client.post(f"{INDEX}/mappings", json=MAPPING)
        await client.post(f"{INDEX}/documents/_bulk", json={"documents": DOCUMENTS})
        before = (await client.get(INDEX)).json()
    async with served(tmp_path) as url, httpx.AsyncClient(base_url=url, headers={"x-api-key": KEY}) as client:
        assert (await client.get(INDEX)).json() == before
        assert [each["indexName"] for each in (await client.get("/v1/home/indexes")).json()] == ["recipes"]
        assert await found(client, "apple pie") == ["r-1"]
        assert (await client.post("/v1/home/indexes", json={"name": "recipes"})).status_code == 409
    assert {path.stat().st_mode & 0o077 for path in tmp_path.rglob("*") if path.is_file()} == {0}


async def test_a_body_that_is_too_long_is_not_read(client: httpx.AsyncClient) -> None:
    """Nor one that is no JSON; the server goes on."""
    await client.post("/v1/home/indexes", json={"name": "recipes"})
    assert (await client.post(f"{INDEX}/search", content=b"x" * 33 * 2**20)).status_code == 413
    assert (
        await client.post(f"{INDEX}/search", content=b"{", headers={"content-type": "application/json"})
    ).status_code == 400
    assert (await client.get(INDEX)).status_code == 200


async def test_many_writers_and_readers_at_once(recipes: httpx.AsyncClient) -> None:
    """Nothing is lost, and nobody is locked out."""

    async def write(number: int) -> None:
        for n in range(5):
            one = {"id": f"w-{number}-{n}", "content": {"title": f"Stew number {n} of cook {number}"}}
            answer = await recipes.post(f"{INDEX}/documents/_bulk", json={"documents": [one]})
            assert answer.status_code == 202

    async def read() -> None:
        for _ in range(5):
            await found(recipes, "stew of cook")

    await asyncio.gather(*(write(n) for n in range(8)), *(read() for _ in range(8)))
    assert (await recipes.get(INDEX)).json()["documentsIndexed"] == 43
