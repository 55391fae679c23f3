"""One gateway for all clients, which come one after the other, each with processes and messages of its own."""

from collections.abc import Iterator

import pytest

from tests.clients.served import Served


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    served = Served(tmp_path_factory.mktemp("served"))
    try:
        yield served
    finally:
        complaints = served.stop()
    assert complaints == ""
