"""A schema registry of a test: what it is asked for, and what it answers, in a thread."""

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

USER, PASSWORD = "reader", "$ecret"


class Registry:
    """`schemas` are answers by path; `failures` says with which status it answers the next calls, and for how many."""

    def __init__(self) -> None:
        self.answers: dict[str, dict[str, Any]] = {}
        self.asked: list[str] = []
        self.failing: list[int] = []
        self.is_closed_to_others = False
        self.url = ""

    def add(self, number: int, schema: Any, **more: Any) -> None:
        self.answers[f"/schemas/ids/{number}"] = {"schema": json.dumps(schema), **more}


@contextmanager
def running_registry() -> Iterator[Registry]:
    its = Registry()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            its.asked.append(self.path)
            wanted = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
            if its.failing:
                self.send_error(its.failing.pop(0))
            elif its.is_closed_to_others and self.headers["Authorization"] != wanted:
                self.send_error(401)
            elif self.path not in its.answers:
                self.send_error(404)
            else:
                self.send_response(200)
                self.end_headers()
                self.wfile.write(json.dumps(its.answers[self.path]).encode())

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    its.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield its
    finally:
        server.shutdown()
        server.server_close()
