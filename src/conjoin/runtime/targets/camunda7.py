"""Camunda 7: `POST /message`, `POST /signal`, and the trigger of one execution's subscription.

A message must say whom it is for: by business key, by variables, by instance, by execution, or as a start. Camunda 7
knows no correlation keys, and its REST API cannot be told a process definition: a hint that counts on these is a
mapping error, because without them the message would reach whoever waits for its name.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from conjoin.kernel.inbox.message import DEFAULT_TENANT, TARGET_ERROR, Hint, InboxMessage
from conjoin.kernel.inbox.outcomes import HANDED_OVER, Delivered, Failed, Unanswered
from conjoin.runtime.targets.calls import TargetAnswer, TargetRequest
from conjoin.runtime.targets.payload import posted, unmapped, variables_of
from conjoin.runtime.targets.problems import failure_of, garbled, read_answer
from conjoin.runtime.targets.typed_values import typed_key, typed_values

_MISMATCH = ("MismatchingMessageCorrelationException", "Cannot correlate message")
"""How a 400 says that nobody waits, or that several do."""


@dataclass(frozen=True, slots=True)
class Camunda7:
    """`signals` are the names that are thrown as signals; `local_keys` the correlation variables of the execution."""

    signals: frozenset[str] = frozenset()
    local_keys: frozenset[str] = frozenset()

    @property
    def label(self) -> str:
        return "Camunda 7"

    def request_of(self, message: InboxMessage, now: int) -> TargetRequest | Failed:
        variables = variables_of(message)
        if isinstance(variables, Failed):
            return variables
        hint = message.hint
        if not hint.name.strip():
            return unmapped("the hint has no message name")
        values = typed_values(variables)
        if hint.name in self.signals:
            return _signal(hint, _tenant(message), values)
        if hint.execution_id:
            return posted(_trigger_path(hint), {"variables": values})
        return self._message(hint, _tenant(message), values)

    def _message(self, hint: Hint, tenant: Mapping[str, Any], values: dict[str, Any]) -> TargetRequest | Failed:
        if hint.process_definition_id and (hint.is_start or not hint.process_instance_id):
            return unmapped(_definition_named(hint))
        narrowed = dict(tenant) if hint.is_start else self._receiver(hint, tenant)
        if isinstance(narrowed, Failed):
            return narrowed
        body = {"messageName": hint.name}
        if hint.business_key:
            body["businessKey"] = hint.business_key
        return posted("/message", body | narrowed | {"processVariables": values, "all": False, "resultEnabled": True})

    def _receiver(self, hint: Hint, tenant: Mapping[str, Any]) -> dict[str, Any] | Failed:
        """What narrows it down to one instance."""
        if not (hint.business_key or hint.correlation_variables or hint.process_instance_id):
            return unmapped(_nobody_named(hint))
        # An instance has its tenant, and Camunda refuses to be told both.
        narrowed = {"processInstanceId": hint.process_instance_id} if hint.process_instance_id else dict(tenant)
        keys = self._keys(hint.correlation_variables)
        return keys if isinstance(keys, Failed) else narrowed | keys

    def _keys(self, variables: Mapping[str, Any]) -> dict[str, Any] | Failed:
        keys: dict[str, dict[str, Any]] = {}
        for name, value in variables.items():
            key = typed_key(value)
            if key is None:
                return unmapped(f"correlation variable {name!r}: Camunda 7 cannot compare lists and objects")
            keys.setdefault("localCorrelationKeys" if name in self.local_keys else "correlationKeys", {})[name] = key
        return keys

    def outcome_of(self, answer: TargetAnswer) -> Delivered | Failed | Unanswered:
        if answer.status == 204:
            return Delivered("correlated", HANDED_OVER)
        told = read_answer(answer.body)
        if 200 <= answer.status < 300:
            return _delivered(told) or garbled(self.label, answer)
        if not isinstance(told, dict):
            return failure_of(self.label, answer)
        text = f"{told.get('type', '')}: {told.get('message', '')}"
        if answer.status == 400 and any(sign in text for sign in _MISMATCH):
            head = f"{self.label} found nobody, or several, to take the message"
            return Failed(TARGET_ERROR, f"{head}\nCaused by: {text}")
        return failure_of(self.label, answer, text)


def _tenant(message: InboxMessage) -> dict[str, Any]:
    """A hint that names the default tenant asks for those without one; no hint asks for nothing."""
    if message.hint.tenant_id == DEFAULT_TENANT:
        return {"withoutTenantId": True}
    tenant = message.hint.tenant_id or message.tenant_id
    return {} if tenant == DEFAULT_TENANT else {"tenantId": tenant}


def _signal(hint: Hint, tenant: Mapping[str, Any], values: dict[str, Any]) -> TargetRequest | Failed:
    """A signal goes to all who wait for it; only an execution, or else a tenant, narrows it."""
    narrowed = {"executionId": hint.execution_id} if hint.execution_id else dict(tenant)
    return posted("/signal", {"name": hint.name} | narrowed | {"variables": values})


def _trigger_path(hint: Hint) -> str:
    execution, name = (quote(text, safe="", errors="replace") for text in (hint.execution_id, hint.name))
    return f"/execution/{execution}/messageSubscriptions/{name}/trigger"


def _definition_named(hint: Hint) -> str:
    return (
        f"process definition {hint.process_definition_id!r}: Camunda 7 cannot be told by REST which definition a"
        " message is for; leave it out, and a start takes the latest one that has this message"
    )


def _nobody_named(hint: Hint) -> str:
    named = f" (only the correlation key {hint.correlation_key!r})" if hint.correlation_key else ""
    return (
        f"the hint names nobody that Camunda 7 could find{named}: it asks for a business key, correlation variables,"
        " an instance, an execution, or the start flag"
    )


def _delivered(results: Any) -> Delivered | None:
    """Of the one who took it: an instance that waited, or one that was started. None if it says neither."""
    first = results[0] if isinstance(results, list) and results else None
    if not isinstance(first, dict):
        return None
    started, execution = first.get("processInstance"), first.get("execution")
    if isinstance(started, dict):
        return Delivered("correlated", "started_instance", str(started.get("id", "")))
    if isinstance(execution, dict):
        return Delivered("correlated", "waiting_instance", str(execution.get("processInstanceId", "")))
    return None
