"""Pages that are much work: made in a reader while the event loop goes on, and no larger than somebody can look at."""

from collections.abc import Iterator
from threading import current_thread
from typing import Any

import pytest

from conjoin.console.page_request import Visit
from conjoin.gateway.queries import store as queries
from tests.console.server import ConsoleServer
from tests.gateway.models import with_job


@pytest.fixture(scope="module")
def server() -> Iterator[ConsoleServer]:
    made = ConsoleServer()
    made.deploy(with_job("drawn"), "drawn.bpmn")
    yield made
    made.stop()


@pytest.fixture(scope="module")
def model(server: ConsoleServer) -> str:
    [definition] = server.broker.definitions.by_key.values()
    return f"/console/models/{definition.key}"


def test_page_is_made_in_a_reader(server: ConsoleServer, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []
    rendered = Visit.rendered

    def noted(self: Visit, *args: Any, **values: Any) -> Any:
        threads.append(current_thread().name)
        return rendered(self, *args, **values)

    monkeypatch.setattr(Visit, "rendered", noted)
    assert "data-layout" in server.client.get(model).text
    assert [name.partition("_")[0] for name in threads] == ["search"]


def test_page_of_a_large_model_shows_some_elements_and_says_how_many_are_left_out(
    server: ConsoleServer, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "more are left out" not in server.client.get(model).text
    monkeypatch.setattr(queries, "MOST_ELEMENTS", 2)
    page = server.client.get(model).text
    assert "1 more are left out here" in page
    assert "data-diagram" not in page
