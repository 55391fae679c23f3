"""The rule of every call of gRPC, REST and the console: which action it needs, on a part of the store or on all of it.

A call without a rule is refused, and a test proves that none is missing. Which message, process or tenant a call is
about is checked by `authorized_service.py`.
"""

from collections.abc import Sequence
from typing import NamedTuple

from conjoin.gateway.security.grants import Caller, allowing
from conjoin.runtime.client_api.answers import Refusal


class Rule(NamedTuple):
    """One of `actions` is needed; if empty, any known caller may. `is_whole`: it needs a role for the whole store."""

    actions: tuple[str, ...]
    is_whole: bool = False
    by_hand: bool = False
    """Done by a person in the console, so it is audited whatever it is."""

    @property
    def is_audited(self) -> bool:
        return self.by_hand or not _OPERATORS.isdisjoint(self.actions)


_OPERATORS = frozenset({"operate", "deploy", "configure"})
_ANYBODY = Rule(())
_PUBLISH, _CORRELATE, _SIGNAL = Rule(("publish",)), Rule(("correlate",)), Rule(("signal",))
_DEPLOY, _CREATE, _WORK, _OPERATE = Rule(("deploy",)), Rule(("create",)), Rule(("work",)), Rule(("operate",))
_UPDATE_JOB = Rule(("work", "operate"))
_READ, _READ_ALL, _OPERATE_ALL = Rule(("read",)), Rule(("read",), True), Rule(("operate",), True)
_PUBLISH_ALL, _CONFIGURE = Rule(("publish",), True), Rule(("configure",), True)

_GRPC: dict[Rule, Sequence[str]] = {
    _ANYBODY: ("Topology",),
    _PUBLISH: ("PublishMessage",),
    _SIGNAL: ("BroadcastSignal",),
    _DEPLOY: ("DeployResource", "DeployProcess"),
    _CREATE: ("CreateProcessInstance", "CreateProcessInstanceWithResult"),
    _WORK: ("ActivateJobs", "StreamActivatedJobs", "CompleteJob", "FailJob", "ThrowError"),
    _UPDATE_JOB: ("UpdateJobRetries", "UpdateJobTimeout"),
    _OPERATE: ("CancelProcessInstance", "SetVariables", "ResolveIncident"),
}
_V2: dict[Rule, Sequence[str]] = {
    _ANYBODY: ("GET /topology", "GET /status", "GET /license"),
    _PUBLISH: ("POST /messages/publication",),
    _CORRELATE: ("POST /messages/correlation",),
    _SIGNAL: ("POST /signals/broadcast",),
    _DEPLOY: ("POST /deployments",),
    _CREATE: ("POST /process-instances",),
    _WORK: (
        "POST /jobs/activation",
        *(f"POST /jobs/{{jobKey}}/{end}" for end in ("completion", "failure", "error")),
        *(f"POST /user-tasks/{{userTaskKey}}/{what}" for what in ("assignment", "completion")),
        "DELETE /user-tasks/{userTaskKey}/assignee",
    ),
    _UPDATE_JOB: ("PATCH /jobs/{jobKey}",),
    _OPERATE: (
        "POST /process-instances/{processInstanceKey}/cancellation",
        "PUT /element-instances/{elementInstanceKey}/variables",
        "POST /incidents/{incidentKey}/resolution",
    ),
    _READ: (
        *(
            f"POST /{what}/search"
            for what in (
                *("message-subscriptions", "correlated-message-subscriptions", "process-instances", "variables"),
                *("process-definitions", "element-instances", "jobs", "user-tasks", "incidents"),
            )
        ),
        "POST /process-instances/{processInstanceKey}/incidents/search",
        "POST /element-instances/{elementInstanceKey}/incidents/search",
        "GET /process-instances/{processInstanceKey}",
        "GET /process-definitions/{processDefinitionKey}",
        "GET /process-definitions/{processDefinitionKey}/xml",
        "GET /incidents/{incidentKey}",
        "GET /user-tasks/{userTaskKey}",
        "GET /variables/{variableKey}",
        "GET /element-instances/{elementInstanceKey}",
    ),
}
_OWN: dict[Rule, Sequence[str]] = {
    _PUBLISH: ("POST /messages", "POST /messages/bulk"),
    _READ: (
        "GET /messages",
        "GET /messages/{messageKey}",
        "GET /messages/{messageKey}/explain",
        "POST /explain",
        "GET /status",
        *(f"GET /{what}" for what in ("subscriptions", "instances", "incidents", "jobs")),
    ),
    _OPERATE: ("DELETE /messages/{messageKey}/payload",),
    _PUBLISH_ALL: ("POST /inbox/{channel}",),
    _READ_ALL: (
        *("GET /inbox", "GET /inbox/messages/{key}", "GET /policies", "GET /set-aside", "GET /dead-letters"),
        "GET /shards",
    ),
    _OPERATE_ALL: (
        *("POST /set-aside/{key}/retry", "DELETE /set-aside/{key}"),
        "POST /inbox/messages/operations",
        *(f"{method} /inbox/messages/{{key}}" for method in ("PATCH", "PUT", "DELETE")),
        *(f"POST /inbox/messages/{{key}}/{what}" for what in ("pause", "resume", "retry", "release")),
    ),
    _CONFIGURE: ("PUT /policies/{name}",),
}
_OTHERS: dict[Rule, Sequence[str]] = {
    _CORRELATE: ("POST /api/workflow/message",),
    # Figures of all tenants together.
    _READ_ALL: ("GET /metrics", "GET /", "GET /console/events"),
}
_CONSOLE: dict[Rule, Sequence[str]] = {
    _READ: (
        *("GET /find", "GET /messages", "GET /messages/{key}", "GET /send", "POST /send/rehearse", "GET /incidents"),
        *("GET /instances", "GET /instances/{key}", "GET /models", "GET /models/{key}", "GET /models/{key}/xml"),
        *("GET /jobs", "GET /tasks", "POST /incidents/rehearse"),
    ),
    Rule(("publish",), by_hand=True): ("POST /send",),
    _OPERATE: (
        *(f"POST /instances/{{key}}/{what}" for what in ("cancel", "variables")),
        "POST /instances/{key}/incidents/{incident}/resolve",
        "POST /incidents/resolve",
    ),
    _READ_ALL: (
        *("GET /inbox", "GET /inbox/{key}", "POST /inbox/rehearse", "GET /server"),
        *("GET /dead-letters", "GET /dead-letters/{key}", "POST /dead-letters/{key}/rehearse"),
    ),
    _OPERATE_ALL: (
        *("POST /inbox/operate", "POST /inbox/{key}/operate", "POST /inbox/{key}/correct"),
        *(f"POST /{what}/{{key}}/{end}" for what in ("dead-letters", "set-aside") for end in ("retry", "delete")),
    ),
}


RULES: dict[str, Rule] = {
    call.replace(" ", f" {prefix}", 1): rule
    for prefix, rules in (("", _GRPC), ("/v2", _V2), ("/conjoin/v1", _OWN), ("", _OTHERS), ("/console", _CONSOLE))
    for rule, calls in rules.items()
    for call in calls
}
"""By the name of a gRPC call, or by method and path."""


def kept_out(caller: Caller, call: str) -> Refusal | None:
    """None: the caller may do this to some part of the store."""
    rule = RULES.get(call)
    if rule is None:
        return Refusal("FORBIDDEN", f"{call} has no rule, so nobody may call it")
    if not rule.actions:
        return None
    grants = allowing(caller.grants, *rule.actions)
    if grants and (not rule.is_whole or any(grant.is_total for grant in grants)):
        return None
    on = " on the whole store" if rule.is_whole else ""
    needed = f"{' or '.join(rule.actions)}{on}"
    return Refusal("FORBIDDEN", f"{call} needs a role that allows to {needed}, and {caller.name!r:.80} has none")
