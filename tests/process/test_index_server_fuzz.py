"""The server against its own OpenAPI page: whatever is sent by it or against it, no failure of the server's (5xx)."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings

KEY = "a-key-for-this-test"
HEADERS = {"x-api-key": KEY}
EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "20"))


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A running server with an index in it."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    home: Path = tmp_path_factory.mktemp("served")
    environment = {**os.environ, "HARU_HOME": str(home), "HARU_EMBED__MODEL": "static", "HARU_INDEX_SERVER_KEY": KEY}
    command = [sys.executable, "-m", "haru.app.cli", "index", "serve", "--port", str(port)]
    server = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    for _ in range(200):
        try:
            httpx.get(url)
            break
        except httpx.HTTPError:
            time.sleep(0.1)
    index = f"{url}/v1/home/indexes/things"
    httpx.post(f"{url}/v1/home/indexes", json={"name": "things"}, headers=HEADERS)
    mapping = {
        "fields": {
            "title": {"use": ["searchable", "highlightable"]},
            "n": {"kind": "number", "use": ["filterable", "sortable"]},
        }
    }
    httpx.post(f"{index}/mappings", json=mapping, headers=HEADERS)
    document = {"id": "d-1", "content": {"title": "A thing in a box", "n": 1}}
    assert httpx.post(f"{index}/documents/_bulk", json={"documents": [document]}, headers=HEADERS).status_code == 202
    yield schemathesis.openapi.from_url(f"{url}/openapi")
    server.send_signal(signal.SIGINT)
    server.wait(20)


def test_the_server_never_fails(api: Any) -> None:
    """With names that exist, so that more than the doorkeeper is tried."""
    known = {"org": "home", "index": "things", "key": "d-1"}
    statuses: Counter[int] = Counter()
    for found in api.get_all_operations():
        operation = found.ok()

        @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy())
        def tried(case: Any) -> None:
            case.path_parameters = {name: known[name] for name in case.path_parameters or {}}
            answer = case.call(headers=HEADERS)
            statuses[answer.status_code] += 1
            assert answer.status_code < 500, f"{case.method} {case.path}: {answer.text}"

        tried()
    assert statuses[200] > EXAMPLES, "hardly anything came through"
    assert statuses[202] > 0
    assert statuses[400] > 0
