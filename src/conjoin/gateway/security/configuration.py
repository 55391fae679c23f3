"""The settings of `[security]`: declared, checked all at once before the server listens, and made into a guard.

Without the section callers are not authenticated and nothing is encrypted; the server then listens on loopback only.
"""

import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import grpc
from pydantic import Field

from conjoin.errors import InputError, SettingsError
from conjoin.gateway.guard import Guard, allow_all
from conjoin.gateway.security.authentication.authenticating import Authenticating
from conjoin.gateway.security.authentication.callers import CallerFile
from conjoin.gateway.security.grants import ACTIONS, EVERYTHING, Grant, Patterns
from conjoin.gateway.security.guarding import Audit, SecurityGuard
from conjoin.runtime.visibility.hiding import NOTHING_HIDDEN, Hiding
from conjoin.setting_tables import File, NamePatterns, SettingTable, Text, read_table
from conjoin.shown_urls import shown_url

ADMIN = "admin"
"""A role that always exists, unless the settings redefine it."""
_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""All with keys that an issuer may publish: never a shared secret, never `none`."""
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class RoleSettings(SettingTable):
    actions: NamePatterns
    messages: NamePatterns = ("*",)
    processes: NamePatterns = ("*",)
    jobs: NamePatterns = ("*",)
    tenants: NamePatterns = ("*",)


class ServerTls(SettingTable):
    """PEM files: one certificate for gRPC and REST. With `clients`, only certificates of that authority may connect."""

    certificate: File
    key: File
    clients: File | None = None

    def check(self) -> None:
        """Raises `SettingsError` for files that cannot be used."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            context.load_cert_chain(self.certificate, self.key)
            if self.clients is not None:
                context.load_verify_locations(self.clients)
        except (OSError, ssl.SSLError) as error:
            files = ", ".join(str(path) for path in (self.certificate, self.key, self.clients) if path is not None)
            raise SettingsError([f"tls: {files}: cannot be used: {error.strerror or error}"]) from None

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


class OidcSettings(SettingTable):
    issuer: Text
    audience: Text
    jwks: Text
    """A URL, or a file."""
    algorithms: NamePatterns = ("RS256", "ES256")
    name_claim: Text = "sub"
    roles_claim: Text = "roles"


class SecuritySettings(SettingTable):
    callers: File | None = None
    oidc: OidcSettings | None = None
    tls: ServerTls | None = None
    audit: File | None = None
    redact: NamePatterns = ()
    roles: dict[str, RoleSettings] = Field(default_factory=dict)


class Security(NamedTuple):
    guard: Guard = allow_all
    tls: ServerTls | None = None
    authenticates: bool = False
    hiding: Hiding = NOTHING_HIDDEN

    @property
    def is_closed(self) -> bool:
        """To strangers: connections are encrypted, and callers are known."""
        return self.tls is not None and (self.authenticates or self.tls.clients is not None)


def read_security(section: Mapping[str, Any]) -> Security:
    """Raises `SettingsError`."""
    if not section:
        return Security()
    settings = read_table(SecuritySettings, section)
    problems = list(_problems(settings))
    if problems:
        raise SettingsError(problems)
    if settings.tls is not None:
        settings.tls.check()
    authenticating = _authenticating(settings)
    audit = Audit(settings.audit) if settings.audit is not None else None
    guard = SecurityGuard(authenticating, audit)
    return Security(guard, settings.tls, authenticating is not None, Hiding(settings.redact))


def _problems(settings: SecuritySettings) -> Iterator[str]:
    for name, role in settings.roles.items():
        for action in role.actions:
            if action not in ACTIONS:
                yield f"roles.{name}.actions: {action!r} is none of {', '.join(ACTIONS)}"
        if "work" in role.actions and "*" not in role.processes:
            yield f"roles.{name}: jobs are handed out by type, so work is limited by jobs and tenants, not by processes"
    if settings.roles and settings.callers is None and settings.oidc is None:
        yield "roles: nobody can have one without callers or oidc"
    if (oidc := settings.oidc) is None:
        return
    for algorithm in oidc.algorithms:
        if algorithm not in _ALGORITHMS:
            yield f"oidc.algorithms: {algorithm!r} is none of {', '.join(_ALGORITHMS)}"
    url = urlsplit(oidc.jwks)
    if url.scheme == "http" and url.hostname not in _LOOPBACK:
        yield f"oidc.jwks = {shown_url(oidc.jwks)!r}: keys that come without TLS can be anybody's; use https"
    if url.scheme not in ("", "http", "https"):
        yield f"oidc.jwks = {shown_url(oidc.jwks)!r}: is neither an https URL nor a file"


def _authenticating(settings: SecuritySettings) -> Authenticating | None:
    oidc = settings.oidc
    if settings.callers is None and oidc is None:
        return None
    roles = {ADMIN: EVERYTHING}
    for name, role in settings.roles.items():
        patterns = (role.messages, role.processes, role.jobs, role.tenants)
        roles[name] = Grant(frozenset(role.actions), *map(Patterns, patterns))
    callers = None if settings.callers is None else _callers(settings.callers, roles)
    if oidc is None:
        return Authenticating(roles, callers)
    # PyJWT takes longer to import than the rest of a server to start.
    from conjoin.gateway.security.authentication.issuer import Issuer

    return Authenticating(roles, callers, Issuer(oidc), (oidc.name_claim, oidc.roles_claim))


def _callers(path: Path, roles: Mapping[str, Grant]) -> CallerFile:
    try:
        callers = CallerFile(path)
    except InputError as error:
        raise SettingsError(error.problems) from None
    unknown = [
        f"{path}: {name} has the role {role!r}, and there are {', '.join(roles)}"
        for name, known in callers.by_name.items()
        for role in known.roles
        if role not in roles
    ]
    if unknown:
        raise SettingsError(unknown)
    return callers
