"""A model service on this machine, small but real: it says what notes it was given."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SLOWLY = "slowly"
"""Said by the person, it makes the reply take two seconds."""


class _Service(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._answer({"data": [{"id": "parrot"}]})

    def do_POST(self) -> None:
        asked: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        lines = [line for message in asked["messages"] for line in message["content"].splitlines()]
        notes = [line for line in lines if line.startswith("- [noted")]
        words = f"I know {len(notes)} things: {' '.join(notes)} That is all.".split(" ")
        if not asked.get("stream"):
            reply = {"message": {"content": " ".join(words)}, "finish_reason": "stop"}
            self._answer({"choices": [reply]})
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        pause_s = 2.0 / len(words) if SLOWLY in lines[-1] or any(SLOWLY in line for line in lines[-3:]) else 0.0
        try:
            for word in words:
                chunk = {"choices": [{"index": 0, "delta": {"content": f"{word} "}}]}
                self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
                self.wfile.flush()
                time.sleep(pause_s)
            self.wfile.write(b"data: [DONE]\n\n")
        except ConnectionError:
            return

    def _answer(self, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Say nothing."""


@contextmanager
def chat_service() -> Generator[str]:
    """Run the service; gives its base address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Service)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
