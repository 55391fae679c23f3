"""Targets behind TLS and proxies: who is trusted, who we are, and which way a call takes."""

import socket
import ssl
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from threading import Thread

import pytest

from conjoin.kernel.inbox.outcomes import Failed, Unanswered
from conjoin.runtime.targets import HttpCarrier, HttpTls
from conjoin.runtime.targets.calls import TargetAnswer, TargetRequest
from tests.gateway.security.certificates import Authority
from tests.runtime.targets import servers
from tests.runtime.targets.servers import FakeTarget, running_target

ASKED = TargetRequest("POST", "/message", b"{}")


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def context(authority: Authority) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.signed("server"))
    return context


@pytest.fixture
def secure(context: ssl.SSLContext) -> Iterator[FakeTarget]:
    with running_target(context) as target:
        yield target


def called(url: str, tls: HttpTls | None = None) -> object:
    with closing(HttpCarrier(url, tls=tls)) as carrier:
        return carrier.call(ASKED)


def test_a_target_is_trusted_by_its_own_authority_only(secure: FakeTarget, authority: Authority) -> None:
    assert called(secure.url, HttpTls(str(authority.certificate))) == TargetAnswer(204)
    outcome = called(secure.url)
    assert isinstance(outcome, Failed)
    assert "nothing was sent\nCaused by: SSLCertVerificationError" in outcome.text
    assert len(secure.seen) == 1


def test_a_target_that_wants_to_know_us_is_shown_our_certificate(context: ssl.SSLContext, authority: Authority) -> None:
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(authority.certificate)
    with running_target(context) as target:
        known = HttpTls(str(authority.certificate), *map(str, authority.signed("conjoin")))
        assert called(target.url, known) == TargetAnswer(204)
        assert not isinstance(called(target.url, HttpTls(str(authority.certificate))), TargetAnswer)
        assert len(target.seen) == 1


def test_a_proxy_of_the_environment_is_used_only_where_it_is_asked_for(
    target: FakeTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", target.url.replace("//", "//me:pass-word@"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with closing(HttpCarrier("http://engine.test/rest", use_proxy=True)) as carrier:
        assert carrier.call(ASKED) == TargetAnswer(204)
    (seen,) = target.seen
    assert (seen.path, seen.headers["Host"]) == ("http://engine.test/rest/message", "engine.test")
    assert seen.headers["Proxy-Authorization"] == "Basic bWU6cGFzcy13b3Jk"
    for url, use_proxy in ((servers.nobody_there(), True), ("http://engine.invalid", False)):
        with closing(HttpCarrier(url, use_proxy=use_proxy)) as carrier:
            assert isinstance(carrier.call(ASKED), Failed)
    assert len(target.seen) == 1


def test_a_call_through_a_tunnel_is_sent_only_when_its_own_request_is(
    secure: FakeTarget, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        Thread(target=_tunnel, args=(proxy,), daemon=True).start()
        monkeypatch.setenv("https_proxy", f"127.0.0.1:{proxy.getsockname()[1]}")
        monkeypatch.setenv("no_proxy", "")
        with closing(HttpCarrier(secure.url, tls=HttpTls(str(authority.certificate)), use_proxy=True)) as carrier:
            assert [carrier.call(ASKED) for _ in range(2)] == [TargetAnswer(204)] * 2
            assert secure.connections == 1
            secure.way = servers.hanging_up
            assert isinstance(carrier.call(ASKED), Unanswered)
        with closing(HttpCarrier(secure.url, use_proxy=True)) as carrier:
            assert isinstance(carrier.call(ASKED), Failed), "whoever is not trusted is not asked"
    assert len(secure.seen) == 3


def _tunnel(proxy: socket.socket) -> None:
    while True:
        try:
            caller, _ = proxy.accept()
        except OSError:
            return
        asked = b""
        while b"\r\n\r\n" not in asked:
            asked += caller.recv(4_096)
        host, port = asked.split(b" ")[1].split(b":")
        target = socket.create_connection((host.decode(), int(port)))
        caller.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        for ends in ((caller, target), (target, caller)):
            Thread(target=_pass_on, args=ends, daemon=True).start()


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while some := source.recv(65_536):
            sink.sendall(some)
        sink.shutdown(socket.SHUT_WR)


def test_a_tunnel_that_is_refused_has_sent_nothing(target: FakeTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", target.url)
    monkeypatch.setenv("no_proxy", "")
    with closing(HttpCarrier("https://engine.test", use_proxy=True)) as carrier:
        outcome = carrier.call(ASKED)
    assert isinstance(outcome, Failed)
    assert "cannot be reached; nothing was sent\nCaused by: ProxyError: 501" in outcome.text
