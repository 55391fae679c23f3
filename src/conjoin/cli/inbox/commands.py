"""conjoin inbox list, show, set, correct, and pause, resume, retry, release, delete.

The last five differ in nothing but what is done, so they are made of one function: by keys, or for a whole selection,
which is counted and confirmed first.
"""

import getpass
import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple

import typer

from conjoin.cli.inbox.access import in_words, operators_inbox
from conjoin.cli.invocation import ENGINE, LINES, REFUSED, CommandCall, command, on_engine
from conjoin.cli.options import After, Limit, Who, option, record_key
from conjoin.cli.printing import JsonObject, complain
from conjoin.cli.reading import STANDARD_INPUT, read_file, read_variables, read_when
from conjoin.errors import InputError
from conjoin.kernel.inbox.message import FAULTS, PARKED, PAUSED, STATES
from conjoin.runtime.codec.json_text import json_text
from conjoin.runtime.inbox.inbox import Selected
from conjoin.runtime.inbox.listing import payload_as_text

_COLUMNS = ("key", "state", "reason", "channel", "name", "correlation_key", "attempts", "next_retry_at", "error_text")
_ERROR_SHOWN = 60
_NO_VALUES = "{}"
"""What an operation without values was done with."""
_FILTERS: dict[str, Any] = {
    name: Annotated[str | None, option(flags, help, metavar, "Which messages")]
    for name, flags, help, metavar in (
        ("state", "--state", f"{', '.join(STATES)}.", "STATE"),
        ("channel", "--channel", "Only of this channel.", "NAME"),
        ("type", "--type", "Only of this type, such as orders.Paid.", "TYPE"),
        ("target", "--target", "Only for this target.", "NAME"),
        ("name", "--name", "Only with this message name.", "NAME"),
        ("key", "--correlationKey --key", "Only with this correlation key.", "KEY"),
        ("id", "--messageId --id", "Only with this id.", "ID"),
        ("tenant", "--tenantId --tenant", "Only of this tenant.", "TENANT"),
        ("error", "--error", f"Last error: {', '.join(FAULTS)}.", "CLASS"),
        ("text", "--text", "Only with this in the text of the last error.", "TEXT"),
        ("group", "--group", "Only of this group, as show prints it.", "GROUP"),
        ("since", "--since", "Ingested from then on: ISO 8601, or 1h for an hour ago.", "WHEN"),
        ("until", "--until", "Ingested before: 1d is what is older than a day.", "WHEN"),
    )
}
MessageKey = Annotated[int, record_key("As list prints it.")]


def _user(who: str | None) -> str:
    """By default the user of this process, whom not every system can name."""
    try:
        return who or getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"


@command(
    *(
        ENGINE,
        'conjoin inbox list --state parked --text "HTTP 503"',
        "conjoin inbox list --type orders.Paid --until 1d --json",
    ),
    json=LINES,
    filters=_FILTERS,
)
def list_messages(call: CommandCall, limit: Limit = 50, after: After = None) -> None:
    """List messages of the inbox, oldest first on each shard."""
    with operators_inbox(call) as inbox:
        page = inbox.page(call.query(inbox.now, limit, after))
    if not call.as_json:
        page = page._replace(items=[{**item, "error_text": _head(item["error_text"])} for item in page.items])
    call.print_page(page, _COLUMNS, "no messages in the inbox")


def _head(text: str) -> str:
    """Of an error: enough in a table."""
    head = next(iter(text.splitlines()), "")
    return head if len(head) <= _ERROR_SHOWN else f"{head[: _ERROR_SHOWN - 3]}..."


@on_engine("conjoin inbox show 2251799813685260")
def show(call: CommandCall, key: MessageKey) -> None:
    """Show a message: its payload, its headers, and every attempt with its request and its answer."""
    with operators_inbox(call) as inbox:
        found = dict(call.accepted(inbox.show(key)))
    found["hint"] = {name: value for name, value in found["hint"].items() if value}
    found["taken_by"] = found["taken_by"] or None
    content, history = found.pop("payload"), found.pop("history")
    payload = payload_as_text(content)
    [text] = payload.values()
    facts = {
        **{name: found[name] for name in ("channel", "type")},
        **{"id": found["message_id"], "tenant": found["tenant_id"], "target": found["target"] or "our own engine"},
        **{"group": found["group"], "taken by": found["taken_by"], "event": found["event_at"]},
        **{"ingested": found["ingested_at"], "next retry": found["next_retry_at"], "expires": found["expires_at"]},
        **{"hint": json_text(found["hint"]), "headers": json_text(found["headers"]) if found["headers"] else ""},
        f"payload ({found['encoding']})": text.rstrip(),
    }
    lines = [f"message {found['key']}: {found['state']}", found["sentence"]]
    lines += [f"  now: {found['now']}"] if found.get("now") else []
    lines += [f"  also: {miss['text']}" for miss in found.get("near_misses", ())[1:]]
    lines += [f"  {name} {value}" for name, value in facts.items() if value]
    lines += ["history"] if history else []
    for it in history:
        what = f"{it['kind']}: {it['verdict']} ({it['reason']})" if it["verdict"] else f"{it['kind']} by {it['who']}"
        lines.append(f"  {it['number']}  {it['at']}  {what}")
        if it["asked"] != _NO_VALUES:
            lines.append(f"       {'asked' if it['verdict'] else 'with'} {it['asked']}")
        # An error may be a page of its causes.
        lines += (f"       {line}" for line in it["answered"].splitlines())
    call.print({**found, **payload, "history": history}, "\n".join(lines))


@on_engine("conjoin inbox set 2251799813685260 --attempts 0 --next-retry 10m")
def set_(
    call: CommandCall,
    key: MessageKey,
    attempts: Annotated[int | None, option("--attempts", "How many count; at max_attempts it is parked.", "N")] = None,
    next_retry: Annotated[str | None, option("--next-retry", "ISO 8601, or 10m for in ten minutes.", "WHEN")] = None,
    who: Who = None,
) -> None:
    """Set how many attempts of a message count, and when it is retried."""
    if attempts is None and next_retry is None:
        raise InputError(["nothing to set: give --attempts, --next-retry or both"])
    with operators_inbox(call) as inbox:
        at = read_when(next_retry, "--next-retry", inbox.now, ahead=True)
        state = call.accepted(inbox.set(key, attempts, at, _user(who)))
    _print_state(call, state)


@on_engine(
    "conjoin inbox correct 2251799813685260 --key order-7",
    'conjoin inbox correct 2251799813685260 --payload fixed.json --hint \'{"variables": {"amount": 40}}\'',
)
def correct(
    call: CommandCall,
    key: MessageKey,
    payload: Annotated[str | None, option("--payload", "What it is to carry; - is the standard input.", "FILE")] = None,
    correlation_key: Annotated[str | None, option("--correlationKey --key", "Its correlation key.", "KEY")] = None,
    name: Annotated[str | None, option("--name", "Its message name.", "NAME")] = None,
    business_key: Annotated[str | None, option("--businessKey --business-key", "For a remote target.", "KEY")] = None,
    hint: Annotated[str | None, option("--hint", "An object with any other field of a hint; or @FILE.", "JSON")] = None,
    who: Who = None,
) -> None:
    """Correct the payload or the hint of a message; it is retried at the next run.

    The mapping of its channel makes a new hint of a corrected payload; what is given here counts before that.
    """
    given = {"correlation_key": correlation_key, "name": name, "business_key": business_key}
    changes = read_variables(hint, "--hint") if hint is not None else {}
    changes |= {field: value for field, value in given.items() if value is not None}
    if payload is None and not changes:
        raise InputError(["nothing to correct: give --payload, --key, --name, --business-key or --hint"])
    content = None
    if payload is not None:
        content = sys.stdin.buffer.read() if payload == STANDARD_INPUT else read_file(payload, "--payload")
    with operators_inbox(call) as inbox:
        state = call.accepted(inbox.correct(key, content, changes, _user(who)))
    _print_state(call, state)


def _print_state(call: CommandCall, state: JsonObject) -> None:
    retry = f", next retry {state['next_retry_at']}" if state["next_retry_at"] is not None else ""
    call.print(state, f"message {state['key']}: {state['state']}, {state['attempts']} attempts{retry}")


class _Act(NamedTuple):
    """`state` is the one that a selection is of, by default."""

    done: str
    state: str | None
    help: str


_ACTS = {
    "pause": _Act("paused", None, "Pause messages: they keep their place and are not tried until resumed."),
    "resume": _Act("resumed", PAUSED, "Resume paused messages: they continue where they were."),
    "retry": _Act("due now", None, "Retry messages at the next run, whatever their back-off."),
    "release": _Act("released", PARKED, "Release parked messages: they start over, with no attempts."),
    "delete": _Act("deleted", None, "Delete messages for good; their ids stay known for the retention."),
}


def _command(operation: str, act: _Act) -> Callable[..., None]:
    def operate(
        call: CommandCall,
        keys: Annotated[list[int] | None, record_key("As list prints them.")] = None,
        every: Annotated[bool, typer.Option("--all", help="All messages that it can be done with.")] = False,
        dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count.")] = False,
        yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
        who: Who = None,
    ) -> None:
        if keys and (every or call.filters):
            raise InputError(["give either keys or a selection, not both"])
        if not (keys or every or call.filters):
            raise InputError(["no messages selected: give keys, a selection such as --state parked, or --all"])
        if keys and dry_run:
            raise InputError(["--dry-run: counts a selection, and keys are given"])
        with operators_inbox(call) as inbox:
            if keys:
                answers = zip(keys, inbox.operate(keys, operation, _user(who)), strict=True)
                refused = [(key, answer) for key, answer in answers if answer is not None]
                codes = Counter(answer.code for _, answer in refused)
                _print_selected(call, act.done, Selected(len(keys) - len(refused), codes))
                for key, answer in refused:
                    complain(f"{key}: {answer.code}: {answer.text}")
                if refused:
                    raise typer.Exit(REFUSED)
                return
            if act.state is not None:
                call.filters.setdefault("state", act.state)
            query = call.query(inbox.now)
            if dry_run or not yes:
                would = inbox.count(query, operation)
                if dry_run:
                    _print_selected(call, act.done, would, dry_run=True)
                    return
                typer.confirm(f"{would.changed:,} messages would be {act.done}. Go on?", abort=True, err=True)
            # What cannot be done with some of a selection is counted, and no refusal of the whole.
            _print_selected(call, act.done, inbox.operate_on_all(query, operation, _user(who)))

    operate.__doc__ = act.help
    examples = ("2251799813685260", '--channel orders --text "HTTP 503" --dry-run')
    return command(ENGINE, *(f"conjoin inbox {operation} {it}" for it in examples), filters=_FILTERS)(operate)


def _print_selected(call: CommandCall, done: str, selected: Selected, dry_run: bool = False) -> None:
    refused: Mapping[str, int] = {code: selected.refused[code] for code in sorted(selected.refused)}
    text = f"{selected.changed:,} messages {'would be ' if dry_run else ''}{done}"
    text += f", {sum(refused.values()):,} not: {in_words(refused, '')}" if refused else ""
    call.print({"changed": selected.changed, "refused": refused, "dry_run": dry_run}, text)


pause, resume, retry, release, delete = (_command(operation, act) for operation, act in _ACTS.items())
