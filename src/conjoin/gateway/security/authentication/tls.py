"""TLS: one certificate for gRPC and REST, and if asked for, certificates of clients that an authority has signed."""

import ssl
from pathlib import Path
from typing import Any, NamedTuple

import grpc

from conjoin.errors import SettingsError


class ServerTls(NamedTuple):
    """PEM files. With `clients` nobody without a certificate of that authority is connected."""

    certificate: Path
    key: Path
    clients: Path | None = None

    def checked(self) -> "ServerTls":
        """Raises `SettingsError` for files that cannot be used."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            context.load_cert_chain(self.certificate, self.key)
            if self.clients is not None:
                context.load_verify_locations(self.clients)
        except (OSError, ssl.SSLError) as error:
            files = ", ".join(str(path) for path in self if path is not None)
            raise SettingsError([f"tls: {files}: cannot be used: {error.strerror or error}"]) from None
        return self

    def grpc_credentials(self) -> Any:
        pair = (self.key.read_bytes(), self.certificate.read_bytes())
        authority = self.clients.read_bytes() if self.clients is not None else None
        return grpc.ssl_server_credentials([pair], authority, require_client_auth=authority is not None)

    def http_options(self) -> dict[str, Any]:
        """For uvicorn."""
        options: dict[str, Any] = {"ssl_certfile": self.certificate, "ssl_keyfile": self.key}
        if self.clients is not None:
            options |= {"ssl_ca_certs": str(self.clients), "ssl_cert_reqs": ssl.CERT_REQUIRED}
        return options
