"""The endpoint embedder against a real server: order, prefixes, and every way to fail."""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from haru.embed.endpoint import BATCH, MAX_CHARS, EndpointEmbedder
from haru.embed.static import StaticEmbedder
from haru.errors import IndexUnavailable, SettingsError

KEY, MODEL = "sk-right", "small-embedder"
SECRET = "my doctor is Dr. Amari"


def failure(embedder: EndpointEmbedder) -> str:
    """The message of a failure. Neither it nor the traceback shows the key or what was said."""
    with pytest.raises(IndexUnavailable) as caught:
        embedder.embed([SECRET], "query")
    embedder.close()
    shown = "".join(traceback.format_exception(caught.value))
    assert "sk-" not in shown
    assert "Amari" not in shown
    return str(caught.value)


def test_vectors_come_back_in_the_order_of_the_texts(client: EndpointEmbedder) -> None:
    """The server answers in another order; the index of each vector is what counts, over batches too."""
    texts = [f"{word} {number}" for number in range(BATCH) for word in ("dog", "doctor")]
    assert np.allclose(client.embed(texts, "passage"), StaticEmbedder().embed(texts, "passage"), atol=1e-6)


def test_a_request_carries_what_was_set(service: Any) -> None:
    """Prefixes stand before questions and memories, long texts are cut, blank ones are not sent."""
    embedder = EndpointEmbedder(service.url, MODEL, key=KEY, query_prefix="query: ", passage_prefix="passage: ")
    embedder.embed(["dog", "  ", "y" * 10_000], "query")
    embedder.embed(["cat"], "passage")
    embedder.close()
    assert [request["input"] for request in service.requests[1:]] == [
        ["query: dog", "query: " + "y" * MAX_CHARS],
        ["passage: cat"],
    ]


def test_the_length_is_asked_once(service: Any, client: EndpointEmbedder) -> None:
    """One word is sent to learn the length of a vector, and never again."""
    assert [client.dim, client.dim] == [64, 64]
    assert len(service.requests) == 1
    assert client.id == f"endpoint:{MODEL}"


def test_a_wrong_key_is_named_but_not_shown(service: Any) -> None:
    """The server repeats the key in its answer; the message only says that it is wrong, and where."""
    message = failure(EndpointEmbedder(service.url, MODEL, key="sk-wrong"))
    assert service.host in message
    assert "Correct the key" in message


def test_a_wrong_model_is_named(service: Any) -> None:
    """Model and address are both looked at, for the status is the same."""
    message = failure(EndpointEmbedder(service.url, "large-embedder", key=KEY))
    assert "large-embedder" in message
    assert "/v1" in message


def test_a_wrong_path_says_how_it_should_end(service: Any) -> None:
    """The commonest mistake in an address."""
    assert "should end in /v1" in failure(EndpointEmbedder(f"http://{service.host}", MODEL, key=KEY))


def test_a_dead_service_says_start_it() -> None:
    """Nothing listens on that port."""
    assert "Start it" in failure(EndpointEmbedder("http://127.0.0.1:9/v1", MODEL))


def test_a_slow_service_is_given_up(service: Any) -> None:
    """The time limit is in the message, and there is no second try."""
    service.pause_s = 0.4
    assert "within 0.1 s" in failure(EndpointEmbedder(service.url, MODEL, key=KEY, timeout_s=0.1))


@pytest.mark.parametrize(("status", "advice"), [(429, "Wait"), (500, "what it logged"), (400, "what it logged")])
def test_a_failing_service_is_reported_by_status(
    service: Any, client: EndpointEmbedder, status: int, advice: str
) -> None:
    """The status is passed on, the server's words are not: they repeat what was said."""
    service.status = status
    message = failure(client)
    assert str(status) in message
    assert advice in message


Answer = dict[str, Any]


def _rows(change: Callable[[list[Answer]], object]) -> Callable[[Answer], object]:
    """Spoils the list of vectors."""
    return lambda answer: {**answer, "data": change(answer["data"])}


def _filled(value: object) -> Callable[[Answer], object]:
    """Puts something else in place of every vector."""
    return _rows(lambda rows: [{**row, "embedding": value} for row in rows])


def _whole(value: object) -> Callable[[Answer], object]:
    """Answers something else altogether."""
    return lambda answer: value


@pytest.mark.parametrize(
    "change",
    [
        _rows(lambda rows: rows[:-1]),
        _rows(lambda rows: rows * 2),
        _rows(lambda rows: [{**row, "index": [7]} for row in rows]),
        _rows(lambda rows: [{"embedding": row["embedding"]} for row in rows]),
        _rows(lambda rows: None),
        _rows(lambda rows: 7),
        *map(
            _filled, ([math.nan, 1.0], [math.inf, 1.0], [10**400], [1e308, 1e308], ["no"], "no", None, [], 3, [[1.0]])
        ),
        *map(_whole, ({"hello": "there"}, "hello", None, b"<html>hello</html>", b"", b"\xff", b"[" * 100_000)),
    ],
)
def test_an_answer_that_is_no_vectors_is_refused(
    service: Any, client: EndpointEmbedder, change: Callable[[Answer], object]
) -> None:
    """Short, doubled, numberless, endless or no JSON at all: nothing of it gets into the index."""
    service.change = change
    assert "one sound vector a text" in failure(client)


def test_a_change_of_length_is_noticed(service: Any, client: EndpointEmbedder) -> None:
    """Another model behind the same name gives vectors that cannot be compared."""
    assert client.dim == 64
    service.change = _filled([1.0, 2.0])
    assert "no longer 64" in failure(client)


def test_it_works_again_when_the_service_does(service: Any, client: EndpointEmbedder) -> None:
    """A failure leaves nothing behind."""
    service.status = 500
    with pytest.raises(IndexUnavailable):
        client.embed(["dog"], "query")
    service.status = 200
    assert client.embed(["dog"], "query").any()


@pytest.mark.parametrize(
    "url", ["", "localhost:8080", "ftp://host/v1", "http://", "http://[bad", "http://host:port/v1"]
)
def test_what_is_no_address_is_refused_at_once(url: str) -> None:
    """Settings are checked before anything is asked."""
    with pytest.raises(SettingsError, match="must look like"):
        EndpointEmbedder(url, MODEL)


def test_a_key_that_cannot_be_one_is_refused_at_once() -> None:
    """A key with a line break or a dash from a word processor is a copying mistake; it is not shown."""
    for key in ("sk-one\nsk-two", "sk–dash"):
        with pytest.raises(SettingsError, match="Copy it again") as caught:
            EndpointEmbedder("http://host/v1", MODEL, key=key)
        assert "sk" not in str(caught.value)


def test_a_password_in_the_address_is_not_shown() -> None:
    """Only host and port of the address are named."""
    message = failure(EndpointEmbedder("http://anna:hunter2@127.0.0.1:9/v1", MODEL))
    assert "hunter2" not in message
    assert "127.0.0.1:9" in message
