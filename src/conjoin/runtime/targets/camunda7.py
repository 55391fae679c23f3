"""Camunda 7: `POST /message`, `POST /signal`, and the trigger of one execution's subscription.

A message must say whom it is for: by business key, by variables, by instance, by execution, or as a start. Camunda 7
knows no correlation keys, and its REST API does not take a process definition: a hint that needs these is a mapping
error, because without them the message would reach any instance that waits for its name.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from urllib.parse import quote

from conjoin.kernel.inbox.message import DEFAULT_TENANT, TARGET_ERROR, Hint, InboxMessage
from conjoin.kernel.inbox.outcomes import HANDED_OVER, Delivered, Failed, Unanswered
from conjoin.runtime.codec.json_text import json_text
from conjoin.runtime.targets import calls
from conjoin.runtime.targets.calls import TargetAnswer, TargetRequest

_MISMATCH = ("MismatchingMessageCorrelationException", "Cannot correlate message")
"""How a 400 says that nobody waits, or that several do."""
_INTEGER_END, _LONG_END = 2**31, 2**63

_LABEL = "Camunda 7"


@dataclass(frozen=True, slots=True)
class Camunda7:
    """`signals` are the names that are thrown as signals; `local_keys` the correlation variables of the execution."""

    signals: frozenset[str] = frozenset()
    local_keys: frozenset[str] = frozenset()

    def request_of(self, message: InboxMessage, now: int) -> TargetRequest | Failed:
        variables = calls.variables_of(message)
        if isinstance(variables, Failed):
            return variables
        hint = message.hint
        if not hint.name.strip():
            return calls.unmapped("the hint has no message name")
        values = {name: typed(value) for name, value in variables.items()}
        if hint.name in self.signals:
            # A signal goes to all who wait for it; only an execution, or else a tenant, narrows it.
            narrowed = {"executionId": hint.execution_id} if hint.execution_id else _tenant(message)
            return calls.posted("/signal", {"name": hint.name} | narrowed | {"variables": values})
        if hint.execution_id:
            execution, name = (quote(text, safe="", errors="replace") for text in (hint.execution_id, hint.name))
            return calls.posted(f"/execution/{execution}/messageSubscriptions/{name}/trigger", {"variables": values})
        return self._message(hint, _tenant(message), values)

    def _message(self, hint: Hint, tenant: dict[str, Any], values: dict[str, Any]) -> TargetRequest | Failed:
        if hint.process_definition_id and (hint.is_start or not hint.process_instance_id):
            return calls.unmapped(
                f"process definition {hint.process_definition_id!r}: Camunda 7 cannot be told by REST which definition"
                " a message is for; leave it out, and a start takes the latest one that has this message"
            )
        narrowed = tenant if hint.is_start else self._receiver(hint, tenant)
        if isinstance(narrowed, Failed):
            return narrowed
        body: dict[str, Any] = {"messageName": hint.name}
        if hint.business_key:
            body["businessKey"] = hint.business_key
        return calls.posted(
            "/message", body | narrowed | {"processVariables": values, "all": False, "resultEnabled": True}
        )

    def _receiver(self, hint: Hint, tenant: dict[str, Any]) -> dict[str, Any] | Failed:
        """What narrows it down to one instance."""
        if not (hint.business_key or hint.correlation_variables or hint.process_instance_id):
            named = f" (only the correlation key {hint.correlation_key!r})" if hint.correlation_key else ""
            return calls.unmapped(
                f"the hint names nobody that Camunda 7 could find{named}: it asks for a business key, correlation"
                " variables, an instance, an execution, or the start flag"
            )
        # An instance has its tenant, and Camunda refuses both together.
        instance: dict[str, Any] = {"processInstanceId": hint.process_instance_id}
        narrowed = instance if hint.process_instance_id else tenant
        for name, value in hint.correlation_variables.items():
            key = typed_key(value)
            if key is None:
                return calls.unmapped(f"correlation variable {name!r}: Camunda 7 cannot compare lists and objects")
            scope = "localCorrelationKeys" if name in self.local_keys else "correlationKeys"
            narrowed.setdefault(scope, {})[name] = key
        return narrowed

    def outcome_of(self, answer: TargetAnswer) -> Delivered | Failed | Unanswered:
        if answer.status == 204:
            return Delivered("correlated", HANDED_OVER)
        body = calls.read_answer(answer.body)
        if 200 <= answer.status < 300:
            return _delivered(body) or calls.garbled(_LABEL, answer)
        if not isinstance(body, dict):
            return calls.failure_of(_LABEL, answer)
        text = f"{body.get('type', '')}: {body.get('message', '')}"
        if answer.status == 400 and any(sign in text for sign in _MISMATCH):
            head = f"{_LABEL} found nobody, or several, to take the message"
            return Failed(TARGET_ERROR, f"{head}\nCaused by: {text}")
        return calls.failure_of(_LABEL, answer, text)


def _tenant(message: InboxMessage) -> dict[str, Any]:
    """A hint that names the default tenant asks for those without one; no hint asks for nothing."""
    if message.hint.tenant_id == DEFAULT_TENANT:
        return {"withoutTenantId": True}
    tenant = message.hint.tenant_id or message.tenant_id
    return {} if tenant == DEFAULT_TENANT else {"tenantId": tenant}


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


def typed(value: Any) -> dict[str, Any]:
    """A value with its type, as Camunda 7 wants it; lists, objects and numbers beyond 64 bits are JSON as text."""
    name = _type_name(value)
    return {"value": json_text(value) if name == "Json" else value, "type": name}


def typed_key(value: Any) -> dict[str, Any] | None:
    """A correlation variable; None if Camunda cannot compare such a value.

    It may be given as Camunda's own `{"value": ..., "type": ...}`, as an `Integer` there never equals a `Long`.
    """
    if isinstance(value, Mapping):
        return dict(value) if isinstance(value.get("type"), str) and "value" in value else None
    key = typed(value)
    return None if key["type"] == "Json" else key


def _type_name(value: Any) -> str:
    match value:
        case None:
            return "Null"
        case bool():
            return "Boolean"
        case str():
            return "String"
        case int() if -_INTEGER_END <= value < _INTEGER_END:
            return "Integer"
        case int() if -_LONG_END <= value < _LONG_END:
            return "Long"
        case float() | Decimal():
            return "Double"
        case _:
            return "Json"
