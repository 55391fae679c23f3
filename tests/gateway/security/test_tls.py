"""TLS on real sockets, one certificate for gRPC and REST; and nobody without one where clients need theirs."""

import ssl
from pathlib import Path

import grpc
import httpx
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from conjoin.errors import SettingsError
from conjoin.gateway.security.configuration import read_security
from tests.gateway.security.certificates import Authority, Pair
from tests.gateway.security.secured import Secured


def _rest(server: Secured, authority: Path, client: Pair | None) -> int:
    context = ssl.create_default_context(cafile=str(authority))
    if client is not None:
        context.load_cert_chain(*client)
    with httpx.Client(verify=context) as http:
        return http.get(f"https://127.0.0.1:{server.addresses.rest_port}/v2/topology").status_code


def _grpc(server: Secured, authority: Path, client: Pair | None) -> int:
    pair = (client.key.read_bytes(), client.certificate.read_bytes()) if client is not None else (None, None)
    credentials = grpc.ssl_channel_credentials(authority.read_bytes(), *pair)
    with grpc.secure_channel(server.grpc, credentials) as channel:
        answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=5)
        return int(answer.status)


def test_only_who_has_a_certificate_of_the_authority_is_connected(tmp_path: Path) -> None:
    authority, strange = Authority(tmp_path), Authority(tmp_path, "strange")
    ours = authority.signed("server")
    tls = {"certificate": str(ours.certificate), "key": str(ours.key), "clients": str(authority.certificate)}
    security = read_security({"tls": tls})
    assert security.is_closed
    server = Secured(security, {})
    try:
        assert _rest(server, authority.certificate, authority.signed("client")) == 200
        assert _grpc(server, authority.certificate, authority.signed("client")) == 1
        for stranger in (None, strange.signed("stranger")):
            with pytest.raises((httpx.ReadError, httpx.RemoteProtocolError, httpx.ConnectError)):
                _rest(server, authority.certificate, stranger)
            with pytest.raises(grpc.RpcError):
                _grpc(server, authority.certificate, stranger)
        with pytest.raises(httpx.RemoteProtocolError):
            httpx.get(f"http://127.0.0.1:{server.addresses.rest_port}/v2/topology")
    finally:
        server.stop()


def test_files_that_do_not_fit_are_told_before_anything_starts(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    one, other = authority.signed("one"), authority.signed("other")
    for certificate, key in ((one.certificate, other.key), (tmp_path / "missing.pem", one.key)):
        with pytest.raises(SettingsError, match="tls: "):
            read_security({"tls": {"certificate": str(certificate), "key": str(key)}})
