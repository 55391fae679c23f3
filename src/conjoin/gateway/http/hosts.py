"""Which names this server answers to, and which origins are its own pages.

A page of another site can point its own name at this machine (DNS rebinding); the browser then takes our answers for
that site's. Such a request names a host that is not ours. An address in digits cannot be pointed anywhere, so it is
always accepted.
"""

import socket
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from conjoin.errors import SettingsError

_DEFAULT_PORTS = {"http": "80", "https": "443"}


class Hosts:
    """Names in small letters. One may have `*` for any characters."""

    def __init__(self, configured: Iterable[str] = (), also: Iterable[str] = ()) -> None:
        """`also`: names that are ours without being configured: where it listens, what the certificate says."""
        self._configured = frozenset(map(_plain, configured))
        machine = socket.gethostname()
        own = ("localhost", machine, machine.partition(".")[0], *also)
        names = {_split(_plain(name))[0] for name in (*own, *self._configured)} - {""}
        self._patterns = tuple(name for name in names if "*" in name)
        self._names = frozenset(names)

    def accepts(self, header: str | None) -> bool:
        """The header Host. A request without one was not made by a browser."""
        if header is None:
            return True
        name = _split(_plain(header))[0]
        return name in self._names or _is_address(name) or any(fnmatchcase(name, it) for it in self._patterns)

    def is_own(self, origin: str, header: str | None, scheme: str) -> bool:
        """A page of ours: of the very host and port that is asked, or of one that is configured (a proxy's)."""
        try:
            said = urlsplit(origin)
        except ValueError:
            return False
        if said.scheme not in _DEFAULT_PORTS or (scheme == "https" and said.scheme != "https"):
            return False
        here = _without_port(said.netloc, said.scheme)
        asked = () if header is None else (header,)
        return any(here == _without_port(name, said.scheme) for name in (*asked, *self._configured))


def hosts_in(section: Mapping[str, Any]) -> tuple[str, ...]:
    """`hosts` of the section `[server]`. Raises `SettingsError`."""
    hosts = section.get("hosts", [])
    if not isinstance(hosts, (list, tuple)) or not all(isinstance(it, str) for it in hosts):
        raise SettingsError(["hosts: is not a list of names such as conjoin.example"])
    return checked(hosts)


def checked(hosts: Iterable[str]) -> tuple[str, ...]:
    """Raises `SettingsError` for what is no name."""
    given = tuple(hosts)
    wrong = [it for it in given if not it.strip() or any(character in it for character in "/@? ")]
    if wrong:
        raise SettingsError([f"hosts: {it!r:.80} is not a name such as conjoin.example" for it in wrong])
    return given


def names_in_certificate(path: Path) -> tuple[str, ...]:
    """The DNS names it is for: under TLS a browser has checked that it asked for one of them."""
    from cryptography import x509

    try:
        certificate = x509.load_pem_x509_certificate(path.read_bytes())
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, OSError, x509.ExtensionNotFound):
        return ()
    return tuple(names.get_values_for_type(x509.DNSName))


def _plain(name: str) -> str:
    return name.strip().lower().removesuffix(".")


def _split(netloc: str) -> tuple[str, str]:
    """Name and port; an address of IPv6 has brackets around it, or stands alone."""
    if netloc.startswith("["):
        name, _, rest = netloc[1:].partition("]")
        return name, rest.removeprefix(":")
    if netloc.count(":") > 1:
        return netloc, ""
    name, _, port = netloc.partition(":")
    return name.removesuffix("."), port


def _without_port(netloc: str, scheme: str) -> str:
    """The default port of the scheme need not be written."""
    return _plain(netloc).removesuffix(f":{_DEFAULT_PORTS[scheme]}")


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
