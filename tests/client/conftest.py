"""One server for all tests of the client; each uses names and keys of its own."""

from collections.abc import Iterator

import pytest

from conjoin.client import Client
from tests.client.cutting_proxy import CuttingProxy
from tests.gateway.server_thread import ServerThread
from tests.testing.order import ORDER


@pytest.fixture(scope="session")
def server() -> Iterator[ServerThread]:
    server = ServerThread()
    with Client(server.rest) as client:
        client.deploy(("order.bpmn", ORDER))
    yield server
    server.stop()


@pytest.fixture
def client(server: ServerThread) -> Iterator[Client]:
    with Client(server.rest) as client:
        yield client


@pytest.fixture
def proxy(server: ServerThread) -> Iterator[CuttingProxy]:
    proxy = CuttingProxy(server.addresses.rest_port)
    yield proxy
    proxy.close()
