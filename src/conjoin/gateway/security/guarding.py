"""The guard of a secured server: it authenticates, applies the rule of the call, narrows the service, and audits.

The audit is a file of JSON lines with what operators did, when, and with what outcome. It is append-only, and holds
no variables, payloads or secrets. A record that cannot be written is logged; the action itself stays done.
"""

import logging
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from conjoin.errors import SettingsError
from conjoin.gateway.guard import Admitted, from_a_page
from conjoin.gateway.security.authentication.authenticating import Authenticating
from conjoin.gateway.security.authorized_service import PermittedService
from conjoin.gateway.security.grants import EVERYTHING, Caller, Grant
from conjoin.gateway.security.rules import RULES, kept_out
from conjoin.gateway.service import Service
from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.codec.json_text import json_bytes
from conjoin.times.iso8601 import instant_text

_LOG = logging.getLogger(__name__)
_ANYBODY = Caller("", (EVERYTHING,))


class Audit:
    def __init__(self, path: Path) -> None:
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            raise SettingsError([f"audit = {str(path)!r}: cannot be written: {error.strerror}"]) from None

    def write(self, who: str, call: str, what: Mapping[str, Any], outcome: str) -> None:
        at = instant_text(time.time_ns() // 1_000)
        record = {"at": at, "who": who, "call": call, "what": dict(what), "outcome": outcome}
        try:
            # One write, so that several servers can share a file.
            os.write(self._file, json_bytes(record) + b"\n")
        except OSError as error:
            _LOG.error("the audit cannot be written (%s): %s by %r: %s", error.strerror, call, who, outcome)


class SecurityGuard:
    def __init__(self, authenticating: Authenticating | None, audit: Audit | None) -> None:
        """Without the first every caller is accepted; without the second nothing is audited."""
        self._authenticating = authenticating
        self._audit = audit
        self._made: dict[tuple[Service, tuple[Grant, ...], tuple[str, ...]], Service] = {}

    async def admit(
        self, call: str, headers: Mapping[str, str], service: Service, address: str = ""
    ) -> Admitted | Refusal:
        caller: Caller | Refusal | None = from_a_page(call, headers)
        if caller is None:
            known = self._authenticating
            caller = _ANYBODY if known is None else await known.caller(headers, address)
        if isinstance(caller, Refusal):
            return caller
        refused = kept_out(caller, call)
        if refused is not None:
            self.note(caller.name, call, {}, refused.code)
            return refused
        return Admitted(self._permitted(service, caller.grants, RULES[call].actions), caller.name)

    def count_failures(self, failed: Callable[[str], None]) -> None:
        """`failed` is called with the kind of credentials whenever a caller could not be authenticated."""
        if self._authenticating is not None:
            self._authenticating.failed = failed

    def _permitted(self, service: Service, grants: tuple[Grant, ...], actions: tuple[str, ...]) -> Service:
        """One for each set of roles and kind of call: there are not many."""
        if EVERYTHING in grants:
            return service
        which = (service, grants, actions)
        made = self._made.get(which)
        if made is None:
            made = self._made[which] = PermittedService(service, grants, actions)
        return made

    def note(self, who: str, call: str, what: Mapping[str, Any], outcome: str) -> None:
        rule = RULES.get(call)
        if self._audit is not None and rule is not None and rule.is_audited:
            self._audit.write(who, call, what, outcome)
