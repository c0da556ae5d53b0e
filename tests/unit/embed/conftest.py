"""A real embedding service on the loopback address, and every embedder there is."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from typing import Any

import pytest

from haru.embed.endpoint import EndpointEmbedder
from haru.embed.minilm import MiniLmEmbedder
from haru.embed.static import StaticEmbedder
from haru.ports import Embedder

KEY = "sk-right"
MODEL = "small-embedder"


class Service:
    """Answers ``/v1/embeddings`` with vectors of the static table; `change` spoils an answer on its way out."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.change: Callable[[dict[str, Any]], object] = lambda answer: answer
        self.pause_s = 0.0
        self.status = 200
        self._embedder = StaticEmbedder()
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                time.sleep(service.pause_s)
                status, answer = service.answer(self.path, self.headers["Authorization"], body)
                raw = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                with suppress(ConnectionError):  # the client may have given up
                    self.send_response(status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(raw)))
                    self.end_headers()
                    self.wfile.write(raw)

            def log_message(self, *args: object) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self._server.server_port}"
        self.url = f"http://{self.host}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    def answer(self, path: str, key: str, body: dict[str, Any]) -> tuple[int, object]:
        """Status and body of the answer, as OpenAI words it."""
        if key != f"Bearer {KEY}":
            return 401, {"error": {"message": f"Incorrect API key provided: {key}"}}
        if path != "/v1/embeddings" or body["model"] != MODEL:
            return 404, {"error": {"message": "The model does not exist"}}
        if self.status != 200:
            return self.status, {"error": {"message": f"cannot embed {body['input']}"}}
        self.requests.append(body)
        rows = self._embedder.embed(body["input"], "passage").tolist()
        data = [{"object": "embedding", "index": at, "embedding": row} for at, row in enumerate(rows)]
        return 200, self.change({"object": "list", "model": MODEL, "data": data[::-1], "usage": {}})

    def stop(self) -> None:
        """End the service's thread and free its port."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture(scope="module")
def shared_service() -> Iterator[Service]:
    """One service for a module's tests."""
    service = Service()
    yield service
    service.stop()


@pytest.fixture
def service(shared_service: Service) -> Service:
    """The service, sound again whatever the test before did to it."""
    shared_service.requests.clear()
    shared_service.change = lambda answer: answer
    shared_service.pause_s = 0.0
    shared_service.status = 200
    return shared_service


@pytest.fixture
def client(service: Service) -> Iterator[EndpointEmbedder]:
    """An embedder with the right key and model."""
    embedder = EndpointEmbedder(service.url, MODEL, key=KEY)
    yield embedder
    embedder.close()


@pytest.fixture(scope="module", params=["static", "endpoint", pytest.param("minilm", marks=pytest.mark.semantic)])
def embedder(request: pytest.FixtureRequest, shared_service: Service) -> Iterator[Embedder]:
    """Each embedder in turn."""
    if request.param == "endpoint":
        endpoint = EndpointEmbedder(shared_service.url, MODEL, key=KEY)
        yield endpoint
        endpoint.close()
    elif request.param == "static":
        yield StaticEmbedder()
    elif find_spec("onnxruntime"):
        yield MiniLmEmbedder()
    else:
        pytest.skip("needs the extra `semantic`")
