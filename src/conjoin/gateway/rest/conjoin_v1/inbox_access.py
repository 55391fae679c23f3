"""The inbox of a request: there may be none. Who does something to a message is written down with it."""

from conjoin.gateway.http.context import USER
from conjoin.gateway.http.problems import HttpProblem, refused
from conjoin.gateway.rest.endpoint import RestCall
from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.client_api.inbox_orders import OperationRefused as InboxRefusal
from conjoin.runtime.inbox.inbox import Inbox

_ANYBODY = "rest"


def inbox_of(call: RestCall) -> Inbox:
    if call.gateway.inbox is None:
        raise HttpProblem(501, "UNIMPLEMENTED", "This server has no inbox: configure [inbox] in its settings")
    return call.gateway.inbox


def who_asks(call: RestCall) -> str:
    user: object = call.request.scope.get(USER)
    return user if isinstance(user, str) else _ANYBODY


def changed(outcome: object) -> object:
    """The message as it is then; raises what it was refused with."""
    if isinstance(outcome, InboxRefusal):
        raise refused(Refusal(outcome.code, outcome.text))
    return outcome
