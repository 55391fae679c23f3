"""conjoin inbox set and correct: when one message is retried, what it carries and whom it is for."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from conjoin.cli.engine.port import Told
from conjoin.cli.engine.where import Where, on_engine
from conjoin.cli.inbox.opening import opened_inbox
from conjoin.cli.inbox.operators import operators_inbox
from conjoin.cli.inbox.options import MessageKey, Who, user
from conjoin.cli.printing import AsJson, accepted, tell
from conjoin.cli.reading import read_ms, read_variables
from conjoin.cli.store_option import Data, StoreUrl
from conjoin.errors import InputError
from conjoin.kernel.inbox.operations import OperationRefused
from conjoin.kernel.instants import after
from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.visibility.plain_values import to_plain
from conjoin.times.iso8601 import read_instant

_STANDARD_INPUT = "-"


def _text(*flags: str, metavar: str, help_: str) -> Any:
    return typer.Option(*flags, metavar=metavar, help=help_, show_default=False)


@on_engine
def set_(
    where: Where,
    key: MessageKey,
    attempts: Annotated[
        int | None, _text("--attempts", metavar="N", help_="How many count; at max_attempts it is parked.")
    ] = None,
    next_retry: Annotated[
        str | None, _text("--next-retry", metavar="WHEN", help_="ISO 8601, or 10m for in ten minutes.")
    ] = None,
    who: Who = None,
    as_json: AsJson = False,
) -> None:
    """Set how many attempts of a message count, and when it is retried.

    [bold]Example[/bold]

      conjoin inbox set 2251799813685260 --attempts 0 --next-retry 10m
    """
    if attempts is None and next_retry is None:
        raise InputError(["nothing to set: give --attempts, --next-retry or both"])
    with operators_inbox(where) as inbox:
        at = None if next_retry is None else _when(next_retry, inbox.now)
        state = accepted(inbox.set(key, attempts, at, user(who)), as_json)
    _tell(state, as_json)


def correct(
    key: MessageKey,
    payload: Annotated[
        str | None, _text("--payload", metavar="FILE", help_="What it is to carry; - is the standard input.")
    ] = None,
    correlation_key: Annotated[
        str | None, _text("--correlationKey", "--key", metavar="KEY", help_="Its correlation key.")
    ] = None,
    name: Annotated[str | None, _text("--name", metavar="NAME", help_="Its message name.")] = None,
    business_key: Annotated[
        str | None, _text("--businessKey", "--business-key", metavar="KEY", help_="For a remote target.")
    ] = None,
    hint: Annotated[
        str | None, _text("--hint", metavar="JSON", help_="An object with any other field of a hint; or @FILE.")
    ] = None,
    who: Who = None,
    data: Data = None,
    store: StoreUrl = None,
    as_json: AsJson = False,
) -> None:
    """Correct the payload or the hint of a message; it is retried at the next run.

    The mapping of its channel makes a new hint of a corrected payload; what is given here counts before that.

    [bold]Examples[/bold]

      conjoin inbox correct 2251799813685260 --key order-7

      conjoin inbox correct 2251799813685260 --payload fixed.json --hint '{"variables": {"amount": 40}}'
    """
    said = {"correlation_key": correlation_key, "name": name, "business_key": business_key}
    changes = {field: value for field, value in said.items() if value is not None}
    changes = (read_variables(hint, "--hint") if hint is not None else {}) | changes
    if payload is None and not changes:
        raise InputError(["nothing to correct: give --payload, --key, --name, --business-key or --hint"])
    content = None if payload is None else _content(payload)
    with opened_inbox(data, store) as inbox:
        answer = inbox.correct(key, content, changes, user(who))
        message = accepted(Refusal(*answer) if isinstance(answer, OperationRefused) else answer, as_json)
    _tell(to_plain({name: getattr(message, name) for name in ("key", "state", "attempts", "next_retry_at")}), as_json)


def _tell(state: Told, as_json: bool) -> None:
    at = state["next_retry_at"]
    retry = f", next retry {at}" if at is not None else ""
    tell(state, f"message {state['key']}: {state['state']}, {state['attempts']} attempts{retry}", as_json)


def _when(text: str, now: int) -> int:
    instant = read_instant(text)
    if instant is not None:
        return instant
    try:
        return after(now, read_ms(text, "--next-retry"))
    except InputError:
        example = "an instant such as 2026-01-31T08:00:00Z, or a duration such as 10m"
        raise InputError([f"--next-retry: {text!r} is not {example}"]) from None


def _content(file: str) -> bytes:
    if file == _STANDARD_INPUT:
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise InputError([f"--payload: {file}: {error.strerror}"]) from None
