"""One gateway for all tests that do not end it; each uses names and keys of its own."""

from collections.abc import Iterator

import pytest

from tests.gateway.grpc_client import Client
from tests.gateway.server_thread import ServerThread


@pytest.fixture(scope="session")
def gateway() -> Iterator[ServerThread]:
    server = ServerThread()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def client(gateway: ServerThread) -> Iterator[Client]:
    client = Client(gateway.grpc)
    client.deploy()
    yield client
    client.close()
