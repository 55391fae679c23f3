"""The section `[security]` of the settings: read strictly, with everything that is wrong at once, before anybody calls.

Without it nobody is asked who they are, and nothing is encrypted; a server then listens on the loopback address only.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from conjoin.errors import InputError, SettingsError
from conjoin.gateway.guard import Guard, allow_all
from conjoin.gateway.security.audit import Audit
from conjoin.gateway.security.authentication.authenticating import Authenticating
from conjoin.gateway.security.authentication.callers import CallerFile
from conjoin.gateway.security.authentication.tls import ServerTls
from conjoin.gateway.security.grants import ACTIONS, EVERYTHING, Grant, Patterns
from conjoin.gateway.security.guarding import SecurityGuard
from conjoin.runtime.visibility.hiding import NOTHING_HIDDEN, Hiding
from conjoin.shown_urls import shown_url

ADMIN = "admin"
"""A role that is always there, unless the settings give it another meaning."""
_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""All with keys that an issuer may publish; a shared secret or none at all is never one."""
_HERE = ("localhost", "127.0.0.1", "::1")


class _Part(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Unknown keys are refused."""


class _Role(_Part):
    actions: list[str]
    messages: tuple[str, ...] = ("*",)
    processes: tuple[str, ...] = ("*",)
    jobs: tuple[str, ...] = ("*",)
    tenants: tuple[str, ...] = ("*",)

    def grant(self) -> Grant:
        patterns = (self.messages, self.processes, self.jobs, self.tenants)
        return Grant(frozenset(self.actions), *map(Patterns, patterns))


class _Tls(_Part):
    certificate: str
    key: str
    clients: str | None = None


class _Oidc(_Part):
    issuer: str
    audience: str
    jwks: str
    algorithms: tuple[str, ...] = ("RS256", "ES256")
    name_claim: str = "sub"
    roles_claim: str = "roles"


class _Section(_Part):
    callers: str | None = None
    oidc: _Oidc | None = None
    tls: _Tls | None = None
    audit: str | None = None
    redact: tuple[str, ...] = ()
    roles: dict[str, _Role] = {}


class Security(NamedTuple):
    guard: Guard = allow_all
    tls: ServerTls | None = None
    asks_who: bool = False
    hiding: Hiding = NOTHING_HIDDEN

    @property
    def is_closed(self) -> bool:
        """To strangers: nobody reads along, and whoever calls is known."""
        return self.tls is not None and (self.asks_who or self.tls.clients is not None)


def read_security(section: Mapping[str, Any]) -> Security:
    """Raises `SettingsError`."""
    if not section:
        return Security()
    try:
        said = msgspec.convert(section, _Section)
    except msgspec.ValidationError as error:
        raise SettingsError([str(error)]) from None
    problems = list(_problems(said))
    if problems:
        raise SettingsError(problems)
    tls = _tls(said.tls).checked() if said.tls is not None else None
    authenticating = _authenticating(said)
    audit = Audit(Path(said.audit)) if said.audit is not None else None
    return Security(SecurityGuard(authenticating, audit), tls, authenticating is not None, Hiding(said.redact))


def _problems(said: _Section) -> Iterator[str]:
    for name, role in said.roles.items():
        for action in role.actions:
            if action not in ACTIONS:
                yield f"roles.{name}.actions: {action!r} is none of {', '.join(ACTIONS)}"
        if "work" in role.actions and "*" not in role.processes:
            yield f"roles.{name}: jobs are handed out by type, so work is limited by jobs and tenants, not by processes"
    if said.roles and said.callers is None and said.oidc is None:
        yield "roles: nobody can have one without callers or oidc"
    if said.oidc is not None:
        yield from _problems_of_issuer(said.oidc)


def _problems_of_issuer(oidc: _Oidc) -> Iterator[str]:
    for algorithm in oidc.algorithms:
        if algorithm not in _ALGORITHMS:
            yield f"oidc.algorithms: {algorithm!r} is none of {', '.join(_ALGORITHMS)}"
    address = urlsplit(oidc.jwks)
    if address.scheme == "http" and address.hostname not in _HERE:
        yield f"oidc.jwks = {shown_url(oidc.jwks)!r}: keys that come without TLS can be anybody's; use https"
    if address.scheme not in ("", "http", "https"):
        yield f"oidc.jwks = {shown_url(oidc.jwks)!r}: an https address, or a file"


def _tls(said: _Tls) -> ServerTls:
    return ServerTls(Path(said.certificate), Path(said.key), None if said.clients is None else Path(said.clients))


def _authenticating(said: _Section) -> Authenticating | None:
    if said.callers is None and said.oidc is None:
        return None
    roles = {ADMIN: EVERYTHING, **{name: role.grant() for name, role in said.roles.items()}}
    callers = None if said.callers is None else _callers(Path(said.callers), roles)
    oidc, issuer = said.oidc, None
    claims = ("sub", "roles")
    if oidc is not None:
        # PyJWT takes longer to import than the rest of a server to start.
        from conjoin.gateway.security.authentication.issuer import Issuer, Trusted

        issuer = Issuer(Trusted(oidc.issuer, oidc.audience, oidc.jwks, oidc.algorithms))
        claims = (oidc.name_claim, oidc.roles_claim)
    return Authenticating(roles, callers, issuer, claims)


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
