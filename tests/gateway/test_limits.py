"""What a server does not wait for and has no room for: slow heads and bodies, answers that nobody reads, too much."""

import json
import logging
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import httpx
import pytest

from conjoin.gateway.http import reading
from conjoin.gateway.http.server import Connection
from conjoin.runtime.reading.lists import ListQuery, list_page
from tests.gateway.grpc_client import HOUR_MS, Client
from tests.gateway.server_thread import ServerThread, limited

SOON_S = 0.2
HEAD = b"POST /v2/messages/publication HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
PUBLICATION = {"name": "small", "correlationKey": "k"}


@pytest.fixture
def impatient(gateway: ServerThread, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """A connection to a server that soon has enough."""
    monkeypatch.setattr(Connection, "head_s", SOON_S)
    monkeypatch.setattr(Connection, "unread_s", SOON_S)
    monkeypatch.setattr(reading, "LONGEST_PAUSE_S", SOON_S)
    monkeypatch.setattr(reading, "LONGEST_BODY_S", 3 * SOON_S)
    with socket.create_connection(("127.0.0.1", gateway.addresses.rest_port), timeout=10) as connection:
        yield connection


def everything(connection: socket.socket) -> bytes:
    """Until the server ends it."""
    data = b""
    try:
        while more := connection.recv(65_536):
            data += more
    except ConnectionResetError:
        pass
    return data


@pytest.mark.parametrize("begin", [b"", b"GET /v2/topo", HEAD])
def test_head_that_does_not_come_ends_the_connection(impatient: socket.socket, begin: bytes) -> None:
    impatient.sendall(begin)
    assert everything(impatient) == b""


def test_second_head_on_a_connection_has_no_more_time_than_the_first(impatient: socket.socket) -> None:
    impatient.sendall(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
    answer = b""
    while not answer.endswith(b'"UP"}'):
        answer += impatient.recv(65_536)
    impatient.sendall(b"G")
    assert everything(impatient) == b""


def test_body_that_stops_is_answered_as_too_slow(impatient: socket.socket) -> None:
    impatient.sendall(HEAD + b'Content-Length: 100\r\n\r\n{"name"')
    answer = everything(impatient)
    assert b" 408 " in answer
    assert b"application/problem+json" in answer


def test_body_that_drips_has_an_end(impatient: socket.socket) -> None:
    impatient.sendall(HEAD + b"Content-Length: 100\r\n\r\n")
    began = time.monotonic()
    while time.monotonic() < began + 10:
        try:
            impatient.sendall(b" ")
        except OSError:
            break
        time.sleep(SOON_S / 4)
    assert time.monotonic() < began + 5


def test_form_that_stops_is_answered_as_too_slow(impatient: socket.socket) -> None:
    head = HEAD.replace(b"/v2/messages/publication", b"/v2/deployments")
    head = head.replace(b"application/json", b"multipart/form-data; boundary=x")
    impatient.sendall(head + b"Content-Length: 100\r\n\r\n--x\r\n")
    assert b" 408 " in everything(impatient)


def test_answer_that_nobody_reads_ends_the_connection(impatient: socket.socket, gateway: ServerThread) -> None:
    size = len(httpx.get(f"{gateway.rest}/openapi.json").content)
    asked = 400
    impatient.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * asked)
    time.sleep(10 * SOON_S)
    assert len(everything(impatient)) < asked * size


def test_chunk_that_is_none_ends_an_answer_that_has_begun_without_a_word(
    impatient: socket.socket, caplog: pytest.LogCaptureFixture
) -> None:
    head = HEAD.replace(b"/v2/messages/publication", b"/conjoin/v1/messages/bulk")
    head = head.replace(b"application/json", b"application/x-ndjson")
    line = b'{"name": "m"}\n'
    with caplog.at_level(logging.ERROR):
        impatient.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(line), line))
        time.sleep(SOON_S / 2)
        impatient.sendall(b"no number\r\n")
        everything(impatient)
    assert caplog.records == []


def test_bytes_that_are_no_request_are_told_so(impatient: socket.socket) -> None:
    impatient.sendall(b"\x16\x03\x01\x02\x00\r\n\r\n")
    head, _, body = everything(impatient).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert json.loads(body)["status"] == 400


@pytest.fixture
def patient(gateway: ServerThread) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", gateway.addresses.rest_port), timeout=10) as connection:
        yield connection


LIVE = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n%s\r\n"
LAST = LIVE % b"Connection: close\r\n"


def test_requests_that_come_at_once_are_answered_one_after_the_other(patient: socket.socket) -> None:
    patient.sendall(LIVE % b"" * 1_000 + LAST)
    assert everything(patient).count(b"HTTP/1.1 200 ") == 1_001


def test_whoever_sends_on_without_reading_an_answer_is_cut_off(patient: socket.socket) -> None:
    with pytest.raises((ConnectionError, TimeoutError)):
        patient.sendall(LIVE % b"" * 200_000)


@pytest.mark.parametrize(
    "head",
    [
        LIVE % (b"X-Long: " + b"x" * 70_000 + b"\r\n"),
        LIVE % (b"X: x\r\n" * 20_000),
        LIVE % b"Host: elsewhere\r\n",
        b"GET /health/live HTTP/1.1\r\n\r\n",
        HEAD + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        b"GET /\xe4 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\r\n" * 40_000,
        b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
)
def test_head_that_cannot_be_is_refused(patient: socket.socket, head: bytes) -> None:
    patient.sendall(head)
    assert everything(patient).startswith(b"HTTP/1.1 400 ")


def test_headers_behind_a_body_are_no_headers_and_have_an_end(patient: socket.socket) -> None:
    body = json.dumps(PUBLICATION).encode()
    begin = HEAD + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n" % (len(body), body)
    patient.sendall(begin + b"Host: elsewhere\r\n\r\n" + LAST)
    assert everything(patient).count(b"HTTP/1.1 200 ") == 2


def test_trailer_without_an_end_is_refused(patient: socket.socket) -> None:
    patient.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX: ")
    patient.sendall(b"x" * 70_000)
    assert everything(patient).startswith(b"HTTP/1.1 400 ")


def test_offer_of_another_protocol_is_passed_over(patient: socket.socket) -> None:
    body = json.dumps(PUBLICATION).encode()
    offer = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABk\r\n"
    patient.sendall(HEAD + offer + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    answer = b""
    while b"messageKey" not in answer and (more := patient.recv(65_536)):
        answer += more
    patient.sendall(LAST)
    assert everything(patient).startswith(b"HTTP/1.1 200 ")


@pytest.fixture(scope="module")
def small() -> Iterator[ServerThread]:
    """A server that has little room and little time."""
    server = ServerThread(1, limited(bytes_in_flight=2_000, looks=0, request_timeout_ms=300))
    yield server
    server.stop()


def test_requests_that_cannot_fit_into_memory_are_refused_before_they_are_read(small: ServerThread) -> None:
    client = Client(small.grpc)
    variables = {"x": "x" * 3_000}
    code, text = client.refused("PublishMessage", name="large", variables=json.dumps(variables))
    assert (code, "send it in parts" in text) == ("RESOURCE_EXHAUSTED", True)
    path = f"{small.rest}/v2/messages/publication"
    answer = httpx.post(path, json={**PUBLICATION, "variables": variables})
    assert (answer.status_code, answer.json()["title"]) == (413, "TOO_LARGE")
    # What was refused has given its memory back.
    assert httpx.post(path, json=PUBLICATION).status_code == 200
    client.publish("k", "small")
    assert small.service.memory.taken == 0
    client.close()


def test_readers_of_the_store_do_not_stand_in_an_endless_line(small: ServerThread) -> None:
    answer = httpx.post(f"{small.rest}/v2/jobs/search", json={})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")


def test_command_that_takes_too_long_is_answered_and_not_carried_out_if_it_has_not_begun(small: ServerThread) -> None:
    client = Client(small.grpc)
    begun, go_on = Event(), Event()
    small.service.listeners.append(lambda commit: begun.set() or go_on.wait(10))
    with ThreadPoolExecutor(3) as threads:
        late = threads.submit(client.refused, "PublishMessage", name="late", timeToLive=HOUR_MS)
        assert begun.wait(10)
        never = threads.submit(client.refused, "PublishMessage", name="never", timeToLive=HOUR_MS)
        rest = threads.submit(httpx.post, f"{small.rest}/v2/messages/publication", json={"name": "never"})
        assert {late.result(10)[0], never.result(10)[0]} == {"DEADLINE_EXCEEDED"}
        assert rest.result(10).status_code == 504
        go_on.set()
    small.service.listeners.pop()
    client.publish("k", "after")
    client.close()
    kept = {item.name for item in list_page(small.broker, "messages", ListQuery()).items}
    assert {"late", "after"} <= kept
    assert "never" not in kept
