"""The HTTP server of the REST edge, in the event loop of everything else, and without signal handlers of its own."""

import asyncio
import logging
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import uvicorn

from conjoin.errors import InputError
from conjoin.gateway.http.connection import Connection


class RestServer:
    def __init__(self, app: Any, tls: Mapping[str, Any] | None = None) -> None:
        """`tls`: options of uvicorn."""
        quiet: dict[str, Any] = {"lifespan": "off", "log_config": None, "access_log": False, "server_header": False}
        config = uvicorn.Config(app, http=Connection, ws="none", **quiet, **(tls or {}))
        # Their warnings are about what clients send: an offer of HTTP/2, as Java makes one, or bytes that are nothing.
        for name in ("uvicorn.error", "python_multipart"):
            logging.getLogger(name).setLevel(logging.ERROR)
        self._server = _Server(config)
        self._task: asyncio.Task[None] | None = None

    async def start(self, host: str, port: int) -> int:
        """Answers with the port, which is a free one if 0 was asked for."""
        listening = _listening(host, port)
        self._task = asyncio.create_task(self._server.serve(sockets=[listening]))
        while not self._server.started and not self._task.done():
            await asyncio.sleep(0.005)
        return int(listening.getsockname()[1])

    async def stop(self, grace_s: float) -> None:
        """No new requests; those that are open have so long."""
        if self._task is None:
            return
        self._server.config.timeout_graceful_shutdown = int(grace_s)
        self._server.should_exit = True
        await self._task


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP, so that asyncio sends at once what it accepts from it; otherwise each answer waits 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise InputError([f"{host}:{port} cannot be listened on: {error.strerror}"]) from None
    return listening
