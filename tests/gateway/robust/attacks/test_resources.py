"""What is meant to use a served store up: memory, open files, readers, the event loop and the log."""

import json
import resource
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import grpc
import httpx
import pytest

from conjoin.gateway.grpc.wire import WIRE
from tests.gateway.models import with_job
from tests.gateway.robust.serving import ServingProcess

MB = 1024 * 1024
NDJSON = {"content-type": "application/x-ndjson"}
LONGEST_S = 60.0
INBOX = """
[inbox.channels.payments]
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServingProcess]:
    folder = tmp_path_factory.mktemp("resources")
    (folder / "conjoin.toml").write_text(INBOX)
    process = ServingProcess(folder / "store")
    yield process
    assert process.stop() == 0
    assert process.complaints == ""


def is_alive(served: ServingProcess) -> bool:
    answer = httpx.get(f"{served.rest}/health/live", timeout=LONGEST_S)
    return answer.status_code == 200


def eventually(holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + LONGEST_S
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def nested(size: int) -> str:
    return '{"a":[' + "{}," * ((size - 20) // 3) + "{}]}"


def test_bodies_that_become_many_objects_do_not_take_the_memory(served: ServingProcess) -> None:
    publication = '{"name":"x","correlationKey":"k","variables":%s}'
    bodies = [(publication % nested(size)).encode() for size in (4 * MB - 100, 2 * MB)]

    def post(number: int) -> int:
        body, headers = bodies[number % 2], {"content-type": "application/json"}
        answer = httpx.post(f"{served.rest}/v2/messages/publication", content=body, headers=headers, timeout=LONGEST_S)
        return answer.status_code

    with ThreadPoolExecutor(16) as threads:
        statuses = set(threads.map(post, range(32)))
    assert served.peak_mb < 600
    assert statuses <= {200, 413, 503}
    assert 413 in statuses
    assert 200 in statuses


def test_variables_of_grpc_that_become_many_objects_do_not_take_the_memory(served: ServingProcess) -> None:
    request = WIRE["PublishMessageRequest"](name="x", correlationKey="k", variables=nested(4 * MB - 200))

    def publish(number: int) -> str:
        with grpc.insecure_channel(served.grpc, [("grpc.max_send_message_length", -1), ("x", number)]) as channel:
            call = channel.unary_unary(
                "/gateway_protocol.Gateway/PublishMessage",
                request_serializer=lambda it: it.SerializeToString(),
                response_deserializer=WIRE["PublishMessageResponse"].FromString,
            )
            try:
                call(request, timeout=LONGEST_S)
            except grpc.RpcError as error:
                return str(error.code().name)
            return "OK"

    with ThreadPoolExecutor(16) as threads:
        told = set(threads.map(publish, range(16)))
    assert served.peak_mb < 600
    assert told == {"RESOURCE_EXHAUSTED"}


def test_heavy_readings_keep_neither_health_nor_publishes_nor_lookups_waiting(served: ServingProcess) -> None:
    """Control: more of them than there are readers, over and over; and their clients leave before they are answered."""
    key = bulk(served, b'{"name": "kept", "key": "k", "ttl": "1h"}\n')[0]["key"]
    line = b'{"name": "kept", "key": "k-%d", "ttl": "1h"}\n'
    bulk(served, b"".join(line % number for number in range(8_000)))
    heavy = [
        ("GET", "/conjoin/v1/messages?process=nobody", None),
        ("GET", "/conjoin/v1/messages?process=nobody&order=desc", None),
        ("POST", "/v2/correlated-message-subscriptions/search", {"filter": {"elementId": {"$like": "*x*"}}}),
        ("GET", "/v2/element-instances/3377699720527870", None),
    ]

    def search(number: int) -> str:
        method, path, body = heavy[number % len(heavy)]
        try:
            answer = httpx.request(method, served.rest + path, json=body, timeout=0.3 if number % 3 else LONGEST_S)
        except httpx.TimeoutException:
            return "gone"
        return str(answer.status_code)

    with ThreadPoolExecutor(12) as threads:
        searches = [threads.submit(search, number) for number in range(48)]
        for number in range(10):
            assert is_alive(served)
            assert httpx.get(f"{served.rest}/metrics", timeout=LONGEST_S).status_code == 200
            message = {"name": "between", "correlationKey": f"b-{number}"}
            answer = httpx.post(f"{served.rest}/v2/messages/publication", json=message, timeout=LONGEST_S)
            assert answer.status_code == 200
            assert httpx.get(f"{served.rest}/conjoin/v1/messages/{key}", timeout=LONGEST_S).status_code == 200
        assert {it.result() for it in searches} <= {"200", "404", "gone"}


def test_heavy_readings_end_when_their_clients_leave(fresh: ServingProcess) -> None:
    """A search by pattern in very large variables, again and again; nobody waits for its answer."""
    search = ("/v2/process-instances/search", {"filter": {"variables": [{"name": "text", "value": {"$like": "*x*"}}]}})

    def leave(number: int) -> bool:
        with suppress(httpx.TimeoutException):
            httpx.post(fresh.rest + search[0], json=search[1], timeout=0.2)
            return False
        return True

    with httpx.Client(base_url=fresh.rest, timeout=LONGEST_S) as http, ThreadPoolExecutor(10) as threads:
        http.post("/v2/deployments", files={"resources": ("a.bpmn", with_job("large"))}).raise_for_status()
        body = {"processDefinitionId": "large", "variables": {"text": "a" * 100_000}}
        for answer in threads.map(lambda _: http.post("/v2/process-instances", json=body), range(600)):
            answer.raise_for_status()
        before = fresh.cpu_s
        http.post(search[0], json=search[1]).raise_for_status()
        whole = fresh.cpu_s - before
        left = sum(threads.map(leave, range(40)))
        after = fresh.cpu_s
        while (used := fresh.cpu_s) < after + 10 * whole:
            time.sleep(1)
            if fresh.cpu_s - used < whole / 4:
                break
        assert left > 20
        assert fresh.cpu_s - after < 4 * whole
        assert is_alive(fresh)


def bulk(served: ServingProcess, lines: bytes) -> list[dict[str, object]]:
    answer = httpx.post(f"{served.rest}/conjoin/v1/messages/bulk", content=lines, headers=NDJSON, timeout=LONGEST_S)
    return [json.loads(line) for line in answer.text.splitlines()]


def test_line_without_an_end_into_the_inbox_is_refused_at_the_length_of_a_line(served: ServingProcess) -> None:
    head = b"POST /conjoin/v1/inbox/payments HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
    sent = 0
    with socket.create_connection((served.host, served.rest_port), timeout=LONGEST_S) as connection:
        connection.sendall(head + b"Content-Length: %d\r\n\r\n" % (250 * MB))
        with suppress(OSError):
            while sent < 60 * MB:
                sent += connection.send(b"a" * (256 * 1024))
        assert sent < 50 * MB
        with suppress(OSError):
            assert b" 413 " in connection.recv(65_536)
    assert is_alive(served)


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[ServingProcess]:
    """Nothing before has taken memory of it."""
    (tmp_path / "conjoin.toml").write_text(INBOX)
    process = ServingProcess(tmp_path / "store")
    yield process
    assert process.stop() == 0
    assert process.complaints == ""


@pytest.mark.parametrize("path", ["/conjoin/v1/messages/bulk", "/conjoin/v1/inbox/payments"])
def test_lines_that_never_end_do_not_take_the_memory(fresh: ServingProcess, path: str) -> None:
    """Many connections with a line each that is nearly as long as a line may be, and stops."""
    served = fresh
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
    connections = [socket.create_connection((served.host, served.rest_port)) for _ in range(200)]
    part = b"x" * (3_900_000 // 20)
    try:
        for connection in connections:
            connection.settimeout(0.5)
            connection.sendall(head.encode() + b"Content-Length: 4000000\r\n\r\n")
        for _ in range(20):
            for connection in connections:
                with suppress(OSError):
                    connection.send(part)
        assert is_alive(served)
        assert served.peak_mb < 350
    finally:
        for connection in connections:
            connection.close()
    # Those who go away give back what they held.
    assert eventually(lambda: bulk(served, b'{"name": "after", "key": "k"}\n')[0].get("verdict") == "discarded")


def test_client_that_reads_no_answers_is_not_read_from_for_ever(fresh: ServingProcess) -> None:
    """Answers wait for it, as far as the memory for lines goes; and what was sent is not sent back in full."""
    line = b'{"name":"x","key":"k","%s":1}\n' % (b"n" * 2_400)
    head = b"POST /conjoin/v1/messages/bulk HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
    lines, before_mb = line * 6_000, fresh.peak_mb
    connections = [socket.create_connection((fresh.host, fresh.rest_port), timeout=20) for _ in range(12)]

    def send(connection: socket.socket) -> None:
        with suppress(OSError):
            connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(lines) + lines)

    try:
        with ThreadPoolExecutor(len(connections)) as threads:
            list(threads.map(send, connections))
        assert is_alive(fresh)
        assert fresh.peak_mb < before_mb + 90
    finally:
        for connection in connections:
            connection.close()


GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""A client of gRPC says this first; then these say nothing."""


@pytest.mark.parametrize(("files", "silent"), [(1_024, 1_200), (96, 300)])
def test_rest_and_health_stay_alive_beside_silent_connections(tmp_path: Path, files: int, silent: int) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(4_096, silent * 2), resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    served = ServingProcess(tmp_path / "store", files=files)
    connections: list[socket.socket] = []
    try:
        for _ in range(silent):
            with suppress(OSError):
                connections.append(socket.create_connection((served.host, served.grpc_port), timeout=5))
                connections[-1].sendall(GREETING)
        for number in range(10):
            message = {"name": "between", "correlationKey": f"b-{number}"}
            answer = httpx.post(f"{served.rest}/v2/messages/publication", json=message, timeout=LONGEST_S)
            assert answer.status_code == 200
            assert httpx.get(f"{served.rest}/health/ready", timeout=LONGEST_S).status_code == 200
            assert httpx.post(f"{served.rest}/v2/jobs/search", json={}, timeout=LONGEST_S).status_code == 200
        assert len(served.complaints) < 100_000
    finally:
        for connection in connections:
            connection.close()
        assert served.stop() == 0
