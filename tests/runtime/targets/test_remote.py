"""A message all the way: both Camundas behind a real server, what is booked of it, and that no secret gets out."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from conjoin.kernel.inbox.message import DONE, MAPPING_ERROR, PARKED, WAITING
from conjoin.kernel.inbox.outcomes import Delivered, Failed, Unanswered, book, intend
from conjoin.kernel.inbox.settings import HOLD, InboxSettings
from conjoin.runtime.targets import Camunda7, Camunda8, Credentials, HttpCarrier, RemoteTarget
from tests.runtime.targets import servers
from tests.runtime.targets.messages import NOW, message
from tests.runtime.targets.servers import FakeTarget

SECRETS = Credentials("demo", "pass-word")
KEYED = message(correlation_key="order-7", business_key="order-7")
PUBLISHED = '{"messageKey": "77", "tenantId": "<default>"}'
TWICE = '{"title": "ALREADY_EXISTS", "status": 409, "detail": "a message with that id was already published"}'


@pytest.fixture
def camunda7(target: FakeTarget) -> Iterator[RemoteTarget]:
    carrier = HttpCarrier(f"{target.url}/engine-rest", SECRETS)
    with closing(RemoteTarget(Camunda7(), carrier, lambda: NOW)) as remote:
        yield remote


@pytest.fixture
def camunda8(target: FakeTarget) -> Iterator[RemoteTarget]:
    carrier = HttpCarrier(target.url, Credentials(token="to-ken"))
    with closing(RemoteTarget(Camunda8(), carrier, lambda: NOW)) as remote:
        yield remote


def test_a_delivered_message_is_done(target: FakeTarget, camunda8: RemoteTarget) -> None:
    target.way = servers.answering(200, PUBLISHED)
    outcome = camunda8.deliver(KEYED)
    assert outcome == Delivered("buffered", "handed_over", "77")
    booked = book(intend(KEYED, NOW), outcome, NOW, InboxSettings())
    assert booked.state == DONE
    assert target.seen[0].path == "/v2/messages/publication"


def test_a_second_delivery_to_camunda_8_is_harmless(target: FakeTarget, camunda8: RemoteTarget) -> None:
    target.way = servers.hanging_up
    assert isinstance(camunda8.deliver(KEYED), Unanswered)
    target.way = servers.answering(409, TWICE)
    assert camunda8.deliver(KEYED) == Delivered("refused", "duplicate_id")
    first, second = target.seen
    assert first.body == second.body


def test_an_unanswered_call_is_retried_or_held_as_the_settings_say(target: FakeTarget, camunda7: RemoteTarget) -> None:
    target.way = servers.resetting
    outcome = camunda7.deliver(KEYED)
    assert isinstance(outcome, Unanswered)
    intended = intend(KEYED, NOW)
    assert book(intended, outcome, NOW, InboxSettings()).state == WAITING
    assert book(intended, outcome, NOW, InboxSettings(on_uncertain=HOLD)).state == PARKED


def test_a_message_that_cannot_be_mapped_is_parked_without_a_call(target: FakeTarget, camunda7: RemoteTarget) -> None:
    nowhere = message(correlation_key="order-7")
    outcome = camunda7.deliver(nowhere)
    assert isinstance(outcome, Failed)
    assert outcome.kind == MAPPING_ERROR
    assert book(intend(nowhere, NOW), outcome, NOW, InboxSettings()).state == PARKED
    assert target.seen == []


@pytest.mark.parametrize("status", [200, 401, 500, 504])
def test_an_answer_that_repeats_our_credentials_is_not_repeated_by_us(
    target: FakeTarget, camunda7: RemoteTarget, camunda8: RemoteTarget, status: int
) -> None:
    for remote, secrets in ((camunda7, "Basic ZGVtbzpwYXNzLXdvcmQ= pass-word"), (camunda8, "Bearer to-ken")):
        target.way = servers.answering(status, f"you sent {secrets}")
        outcome = remote.deliver(KEYED)
        assert not isinstance(outcome, Delivered)
        assert "you sent B" in outcome.text
        assert not any(secret in outcome.text for secret in secrets.split()[1:])
    assert [seen.headers["Authorization"] for seen in target.seen] == ["Basic ZGVtbzpwYXNzLXdvcmQ=", "Bearer to-ken"]


def test_credentials_are_not_shown() -> None:
    shown = repr(Credentials("demo", "pass-word", "to-ken"))
    assert "demo" in shown
    assert "pass-word" not in shown
    assert "to-ken" not in shown
