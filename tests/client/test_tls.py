"""A server whose certificate nobody knows but the client that was told: others do not speak to it."""

import datetime
import ssl
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from ipaddress import ip_address
from pathlib import Path
from threading import Thread

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from conjoin.client import Client, ClientTls, Patience
from conjoin.errors import NoAnswer

ONCE = Patience(attempts=1)


class _Empty(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b'{"items": [], "cursor": null}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *said: object) -> None:
        """Nothing."""


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """Signed by itself, with its key in the same file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "conjoin")])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    made = made.not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(now + datetime.timedelta(days=1))
    signed = made.add_extension(address, critical=False).sign(key, hashes.SHA256())
    encoding, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    private = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, plain)
    (tmp_path / "server.pem").write_bytes(private + signed.public_bytes(encoding))
    return tmp_path / "server.pem"


@pytest.fixture
def address(certificate: Path) -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), _Empty)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"https://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_certificate_is_checked_with_the_authority_that_was_named(address: str, certificate: Path) -> None:
    with Client(address, tls=ClientTls(ca=certificate), patience=ONCE) as client:
        assert list(client.messages()) == []
    with Client(address, patience=ONCE) as client, pytest.raises(NoAnswer, match="certificate"):
        list(client.messages())
