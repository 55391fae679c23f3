"""A token that is asked for: kept until shortly before it ends, renewed once when it is refused, and never shown."""

from collections.abc import Iterator
from contextlib import closing
from urllib.parse import parse_qs

import pytest

from conjoin.kernel.inbox.outcomes import Delivered, Failed
from conjoin.runtime.targets import Camunda8, HttpCarrier, OAuth, RemoteTarget
from conjoin.runtime.targets.calls import HttpLimits
from conjoin.runtime.targets.connections import HttpConnections
from conjoin.runtime.targets.credentials import OAuthCredentials, TokenMissing
from tests.runtime.targets import servers
from tests.runtime.targets.messages import message
from tests.runtime.targets.servers import FakeTarget, Handler, running_target

KEYED = message(correlation_key="order-7")
SECRET = "se-cret"


class TokenServer:
    """Gives `to-ken-1`, `to-ken-2` ..., each for a minute."""

    def __init__(self, target: FakeTarget) -> None:
        self.target = target
        target.way = self._give

    def _give(self, handler: Handler) -> None:
        told = f'{{"access_token": "to-ken-{len(self.target.seen)}", "expires_in": 60, "token_type": "Bearer"}}'
        servers.answering(200, told)(handler)

    def oauth(self) -> OAuth:
        return OAuth(f"{self.target.url}/oauth/token", "conjoin", SECRET, "zeebe.camunda.io", "one two")


@pytest.fixture
def tokens() -> Iterator[TokenServer]:
    with running_target() as target:
        yield TokenServer(target)


@pytest.fixture
def remote(target: FakeTarget, tokens: TokenServer) -> Iterator[RemoteTarget]:
    target.way = servers.answering(200, '{"messageKey": "77"}')
    with closing(RemoteTarget(Camunda8(), HttpCarrier(target.url, tokens.oauth()))) as remote:
        yield remote


def authorizations(target: FakeTarget) -> list[str]:
    return [seen.headers["Authorization"] for seen in target.seen]


def test_one_token_is_asked_for_as_the_standard_says_and_used_for_all_calls(
    target: FakeTarget, tokens: TokenServer, remote: RemoteTarget
) -> None:
    assert [remote.deliver(KEYED) for _ in range(3)] == [Delivered("buffered", "handed_over", "77")] * 3
    assert authorizations(target) == ["Bearer to-ken-1"] * 3
    (asked,) = tokens.target.seen
    assert (asked.path, asked.headers["Content-Type"]) == ("/oauth/token", "application/x-www-form-urlencoded")
    assert parse_qs(asked.body.decode()) == {
        "grant_type": ["client_credentials"],
        "client_id": ["conjoin"],
        "client_secret": [SECRET],
        "audience": ["zeebe.camunda.io"],
        "scope": ["one two"],
    }


def test_a_token_is_not_used_to_its_very_end(tokens: TokenServer) -> None:
    now = [1_000.0]
    with closing(OAuthCredentials(tokens.oauth(), HttpConnections(HttpLimits()), lambda: now[0])) as credentials:
        assert credentials.header() == "Bearer to-ken-1"
        now[0] += 29
        assert credentials.header() == "Bearer to-ken-1"
        now[0] += 2
        assert credentials.header() == "Bearer to-ken-2"
        assert credentials.renewed("Bearer to-ken-1") == "Bearer to-ken-2", "another thread was faster"


def test_a_token_that_is_refused_is_renewed_once(target: FakeTarget, tokens: TokenServer, remote: RemoteTarget) -> None:
    def only_the_second(handler: Handler) -> None:
        is_second = handler.headers["Authorization"] == "Bearer to-ken-2"
        servers.answering(200 if is_second else 401, '{"messageKey": "77"}')(handler)

    target.way = only_the_second
    assert isinstance(remote.deliver(KEYED), Delivered)
    target.way = servers.answering(401, "you sent to-ken-2, to-ken-3 and se-cret")
    outcome = remote.deliver(KEYED)
    assert isinstance(outcome, Failed)
    assert outcome.retryable
    assert authorizations(target) == [f"Bearer to-ken-{n}" for n in (1, 2, 2, 3)]
    assert SECRET not in outcome.text
    assert "to-ken-3" not in outcome.text


@pytest.mark.parametrize(
    ("way", "told"),
    [
        (servers.answering(401, '{"error": "invalid_client", "error_description": "se-cret"}'), "401 invalid_client"),
        (servers.answering(200, "[]"), "it answered 200"),
        (servers.answering(200, '{"access_token": "a\\nb"}'), "it answered 200"),
        (servers.answering(302, Location="/login?se-cret"), "it answered 302"),
        (servers.hanging_up, "Caused by: RemoteProtocolError"),
    ],
)
def test_without_a_token_the_target_is_not_asked_and_it_is_tried_again(
    target: FakeTarget, tokens: TokenServer, remote: RemoteTarget, way: servers.Way, told: str
) -> None:
    tokens.target.way = way
    outcome = remote.deliver(KEYED)
    assert isinstance(outcome, Failed)
    assert outcome.retryable
    assert "no token from http://127.0.0.1:" in outcome.text
    assert told in outcome.text
    assert SECRET not in outcome.text
    assert target.seen == []


def test_a_token_server_that_is_not_there(tokens: TokenServer) -> None:
    credentials = OAuthCredentials(OAuth(servers.nobody_there(), "c", SECRET), HttpConnections(HttpLimits()))
    with pytest.raises(TokenMissing, match="ConnectionRefusedError"):
        credentials.header()
    assert SECRET not in repr(tokens.oauth())
