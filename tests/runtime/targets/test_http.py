"""The carrier against a real server: how far a call got is never guessed, and no call hangs or leaks."""

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Semaphore, Thread

import pytest

from conjoin.kernel.inbox.message import TARGET_ERROR
from conjoin.kernel.inbox.outcomes import Failed, Unanswered
from conjoin.runtime.targets.calls import HttpLimits, TargetAnswer, TargetRequest
from conjoin.runtime.targets.credentials import Credentials
from conjoin.runtime.targets.http import HttpCarrier
from tests.runtime.targets import servers
from tests.runtime.targets.servers import PATIENCE_S, FakeTarget, Handler

ASKED = TargetRequest("POST", "/message", b'{"a":1}')
PATIENT = HttpLimits(answer_max=1_000)
IMPATIENT = HttpLimits(connect_timeout_ms=200, answer_timeout_ms=200)


@pytest.fixture
def carrier(target: FakeTarget) -> Iterator[HttpCarrier]:
    with closing(HttpCarrier(target.url, limits=PATIENT)) as carrier:
        yield carrier


def unanswered(outcome: object) -> str:
    assert isinstance(outcome, Unanswered), outcome
    head, cause = outcome.text.split("\n")
    assert head.endswith("was asked and did not answer; it may have the message")
    return cause.removeprefix("Caused by: ")


def not_sent(outcome: object) -> str:
    assert isinstance(outcome, Failed), outcome
    assert (outcome.kind, outcome.retryable) == (TARGET_ERROR, True)
    return outcome.text


def test_a_request_reaches_the_target_as_it_is(target: FakeTarget) -> None:
    target.way = servers.answering(200, b"[]")
    with closing(HttpCarrier(f"{target.url}/engine-rest/", Credentials("demo", "zwölf"))) as carrier:
        assert carrier.call(ASKED) == TargetAnswer(200, b"[]")
    (seen,) = target.seen
    assert (seen.method, seen.path, seen.body) == ("POST", "/engine-rest/message", b'{"a":1}')
    assert seen.headers["Content-Type"] == "application/json"
    assert seen.headers["Authorization"] == "Basic ZGVtbzp6d8O2bGY="


def test_a_token_is_sent_as_it_is(target: FakeTarget) -> None:
    with closing(HttpCarrier(target.url, Credentials(token="t-1"))) as carrier:
        carrier.call(ASKED)
    assert target.seen[0].headers["Authorization"] == "Bearer t-1"


def test_without_credentials_no_header_is_sent(target: FakeTarget, carrier: HttpCarrier) -> None:
    carrier.call(ASKED)
    assert "Authorization" not in target.seen[0].headers


@pytest.mark.parametrize("status", [204, 400, 404, 409, 429, 500, 503])
def test_every_status_is_an_answer(target: FakeTarget, carrier: HttpCarrier, status: int) -> None:
    target.way = servers.answering(status, b"" if status == 204 else b"why", Retry_After="3")
    assert carrier.call(ASKED) == TargetAnswer(status, b"" if status == 204 else b"why", "3")


def test_a_redirect_is_not_followed(target: FakeTarget, carrier: HttpCarrier) -> None:
    target.way = servers.answering(307, Location="/elsewhere")
    assert carrier.call(ASKED) == TargetAnswer(307, b"", "", "/elsewhere")
    assert len(target.seen) == 1


def test_a_target_that_is_not_there_has_nothing() -> None:
    text = not_sent(HttpCarrier(servers.nobody_there()).call(ASKED))
    assert "cannot be reached; nothing was sent\nCaused by: ConnectionRefusedError" in text


def test_a_target_that_speaks_no_tls_has_nothing(target: FakeTarget) -> None:
    carrier = HttpCarrier(target.url.replace("http:", "https:"), limits=IMPATIENT)
    assert "nothing was sent\nCaused by: SSL" in not_sent(carrier.call(ASKED))


def test_a_target_that_does_not_accept_is_given_up() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        url = f"http://127.0.0.1:{full.getsockname()[1]}"
        with socket.create_connection(full.getsockname()):
            assert "Caused by: TimeoutError" in not_sent(HttpCarrier(url, limits=IMPATIENT).call(ASKED))


def test_a_connection_that_is_reset_before_the_request_is_out_has_failed() -> None:
    def reset_at_the_first_byte(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        connection.recv(1)
        servers.reset(connection)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        Thread(target=reset_at_the_first_byte, args=(listening,), daemon=True).start()
        carrier = HttpCarrier(f"http://127.0.0.1:{listening.getsockname()[1]}")
        # More than the buffers between the two can hold.
        outcome = carrier.call(TargetRequest("POST", "/message", b" " * 64_000_000))
        assert "broke off before the request was sent" in not_sent(outcome)


@pytest.mark.parametrize(
    ("way", "cause"),
    [
        (servers.hanging_up, "RemoteProtocolError"),
        (servers.resetting, "ConnectionResetError"),
        (servers.raw_bytes(b"SSH-2.0-OpenSSH_9.6\r\n"), "RemoteProtocolError"),
        (servers.raw_bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n[]"), "RemoteProtocolError"),
        (servers.raw_bytes(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), "RemoteProtocolError"),
        (servers.raw_bytes(b"HTTP/1.1 200 OK\r\n" + b"X-A: b\r\n" * 200), "RemoteProtocolError"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_target_that_was_asked_and_gave_no_whole_answer_is_unanswered(
    target: FakeTarget, carrier: HttpCarrier, way: servers.Way, cause: str
) -> None:
    target.way = way
    assert unanswered(carrier.call(ASKED)).startswith(cause)
    assert len(target.seen) == 1
    target.way = servers.answering(204)
    assert carrier.call(ASKED) == TargetAnswer(204)


@pytest.mark.parametrize("way", [servers.saying_nothing, servers.dripping])
def test_a_target_that_takes_too_long_is_unanswered(target: FakeTarget, way: servers.Way) -> None:
    target.way = way
    with closing(HttpCarrier(target.url, limits=IMPATIENT)) as carrier:
        assert unanswered(carrier.call(ASKED)).startswith("TimeoutError")


def test_an_answer_that_is_too_long_is_cut_and_does_not_stand_before_the_next(
    target: FakeTarget, carrier: HttpCarrier
) -> None:
    target.way = servers.stopping_short
    assert carrier.call(ASKED) == TargetAnswer(500, b"x" * 1_000)
    target.way = servers.answering(200, b"next")
    assert carrier.call(ASKED) == TargetAnswer(200, b"next")


def test_an_answer_of_just_the_limit_is_whole(target: FakeTarget, carrier: HttpCarrier) -> None:
    target.way = servers.answering(200, b"x" * 1_000)
    assert carrier.call(ASKED) == TargetAnswer(200, b"x" * 1_000)


def test_calls_one_after_the_other_share_a_connection(target: FakeTarget, carrier: HttpCarrier) -> None:
    target.way = servers.answering(200, b"[]")
    for _ in range(5):
        carrier.call(ASKED)
    assert target.connections == 1


def test_a_connection_given_up_by_the_target_is_not_used_again(target: FakeTarget, carrier: HttpCarrier) -> None:
    target.way = servers.answering_then_hanging_up
    for _ in range(3):
        target.hung_up.clear()
        assert carrier.call(ASKED) == TargetAnswer(204)
        assert target.hung_up.wait(PATIENCE_S)
    assert target.connections == 3


def test_an_answer_that_closes_its_connection_is_read_to_its_end(target: FakeTarget, carrier: HttpCarrier) -> None:
    target.way = servers.raw_bytes(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end")
    assert carrier.call(ASKED) == TargetAnswer(200, b"until the end")


def test_no_more_calls_are_in_flight_than_may_be(target: FakeTarget, carrier: HttpCarrier) -> None:
    entered, may_leave = Semaphore(0), Semaphore(0)

    def slowly(handler: Handler) -> None:
        entered.release()
        may_leave.acquire(timeout=PATIENCE_S)
        servers.answering(204)(handler)

    target.way = slowly
    patient = HttpCarrier(target.url, limits=HttpLimits(calls_in_flight=3))
    with closing(patient), ThreadPoolExecutor(12) as pool:
        answers = [pool.submit(patient.call, ASKED) for _ in range(12)]
        for _ in range(3):
            assert entered.acquire(timeout=PATIENCE_S)
        for _ in range(9):
            assert not entered.acquire(timeout=0.05), "a fourth call was in flight"
            may_leave.release()
            assert entered.acquire(timeout=PATIENCE_S)
        may_leave.release(3)
        assert [answer.result() for answer in answers] == [TargetAnswer(204)] * 12
    assert target.connections == 3


def test_a_call_that_failed_gives_its_turn_back(target: FakeTarget, carrier: HttpCarrier) -> None:
    target.way = servers.hanging_up
    for _ in range(5):
        unanswered(carrier.call(ASKED))
    with closing(HttpCarrier(servers.nobody_there(), limits=IMPATIENT)) as lost:
        for _ in range(5):
            not_sent(lost.call(ASKED))


def test_a_closed_carrier_keeps_no_connection(target: FakeTarget, carrier: HttpCarrier) -> None:
    carrier.call(ASKED)
    target.hung_up.clear()
    carrier.close()
    assert target.hung_up.wait(PATIENCE_S)
    target.hung_up.clear()
    assert carrier.call(ASKED) == TargetAnswer(204)
    assert target.hung_up.wait(PATIENCE_S)


@pytest.mark.parametrize(
    "url",
    ["", "host:8080", "ftp://host", "http://", "http://me:secret@host", "http://host/?q=secret", "http://host:x",
     "http://host/a b", "http://host/ü", f"http://{'a' * 70}", "http://h\n"],
)  # fmt: skip
def test_a_url_that_cannot_be_called_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(ValueError, match=r"^(is not a URL|may not have|has characters)") as refused:
        HttpCarrier(url)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("url", ["http://host:8080/engine-rest", "https://[::1]:8443", "http://host"])
def test_an_address_is_shown_as_it_was_written(url: str) -> None:
    assert str(HttpCarrier(url).address) == url
