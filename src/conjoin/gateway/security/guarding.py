"""The guard of a secured server: who is there, what is the rule of the call, and what of the service is theirs."""

from collections.abc import Callable, Mapping
from typing import Any

from conjoin.gateway.guard import Admitted, from_a_page
from conjoin.gateway.security.audit import Audit
from conjoin.gateway.security.authentication.authenticating import Authenticating
from conjoin.gateway.security.authorized_service import PermittedService
from conjoin.gateway.security.grants import EVERYTHING, Caller, Grant
from conjoin.gateway.security.rules import RULES, kept_out
from conjoin.gateway.service import Service
from conjoin.runtime.client_api.answers import Refusal

_ANYBODY = Caller("", (EVERYTHING,))


class SecurityGuard:
    def __init__(self, authenticating: Authenticating | None, audit: Audit | None) -> None:
        """Without the first nobody is asked who they are; without the second nothing is written down."""
        self._authenticating = authenticating
        self._audit = audit
        self._made: dict[tuple[Service, tuple[Grant, ...], tuple[str, ...]], Service] = {}

    async def admit(
        self, call: str, headers: Mapping[str, str], service: Service, address: str = ""
    ) -> Admitted | Refusal:
        caller = from_a_page(call, headers) or await self._caller(headers, address)
        if isinstance(caller, Refusal):
            return caller
        refused = kept_out(caller, call)
        if refused is not None:
            self.note(caller.name, call, {}, refused.code)
            return refused
        return Admitted(self._permitted(service, caller.grants, RULES[call].actions), caller.name)

    async def _caller(self, headers: Mapping[str, str], address: str) -> Caller | Refusal:
        return _ANYBODY if self._authenticating is None else await self._authenticating.caller(headers, address)

    def count_failures(self, failed: Callable[[str], None]) -> None:
        """With the kind of what was wrong, whenever somebody could not say who they are."""
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
