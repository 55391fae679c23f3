"""conjoin inbox pause, resume, retry, release and delete: of messages by their keys, or of a whole selection.

They differ in nothing but what is done, so they are made of one function. A selection is counted first and asked about.
"""

from collections import Counter
from collections.abc import Callable
from typing import Annotated, NamedTuple

import typer

from conjoin.cli.engine.where import Where, on_engine
from conjoin.cli.inbox.operators import OperatorsInbox, operators_inbox
from conjoin.cli.inbox.options import (
    ChannelName,
    ErrorClass,
    ErrorText,
    Group,
    Key,
    MessageId,
    Name,
    Since,
    State,
    TargetName,
    TenantId,
    Type,
    Typed,
    Until,
    Who,
    user,
)
from conjoin.cli.inbox.telling import in_words
from conjoin.cli.printing import REFUSED, AsJson, complain, tell
from conjoin.errors import InputError
from conjoin.kernel.inbox.message import PARKED, PAUSED
from conjoin.kernel.storable import LARGEST_INT64
from conjoin.runtime.inbox.inbox import Selected

Keys = Annotated[
    list[int] | None,
    typer.Argument(min=0, max=LARGEST_INT64, metavar="KEY", help="As list prints them.", show_default=False),
]
Every = Annotated[bool, typer.Option("--all", help="All messages that it can be done with.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only count.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


class _Act(NamedTuple):
    """`state` is the one that a selection is of, unless another is asked for."""

    operation: str
    done: str
    state: str | None
    help: str


_ACTS = {
    "pause": _Act("pause", "paused", None, "Pause messages: they keep their place and are not tried until resumed."),
    "resume": _Act("resume", "resumed", PAUSED, "Resume paused messages: they continue where they were."),
    "retry": _Act("retry", "due now", None, "Retry messages at the next run, whatever their back-off."),
    "release": _Act("release", "released", PARKED, "Release parked messages: they start over, with no attempts."),
    "delete": _Act("delete", "deleted", None, "Delete messages for good; their ids stay known for the retention."),
}


def _command(name: str, act: _Act) -> Callable[..., None]:
    def command(
        where: Where,
        keys: Keys = None,
        every: Every = False,
        state: State = None,
        channel: ChannelName = None,
        type_: Type = None,
        target: TargetName = None,
        message_name: Name = None,
        key: Key = None,
        message_id: MessageId = None,
        tenant: TenantId = None,
        error: ErrorClass = None,
        text: ErrorText = None,
        group: Group = None,
        since: Since = None,
        until: Until = None,
        dry_run: DryRun = False,
        yes: Yes = False,
        who: Who = None,
        as_json: AsJson = False,
    ) -> None:
        filters = {"state": state, "channel": channel, "type": type_, "target": target, "name": message_name}
        filters |= {"key": key, "id": message_id, "tenant": tenant, "error": error, "text": text, "group": group}
        typed = Typed(filters, since, until)
        _check(keys, every, typed, dry_run)
        with operators_inbox(where) as inbox:
            if keys:
                _on_keys(inbox, act, keys, user(who), as_json)
            else:
                _on_selection(inbox, act, typed, _Manner(dry_run, yes, user(who), as_json))

    command.__doc__ = f"""{act.help}

    [bold]Examples[/bold]

      conjoin inbox {name} 2251799813685260

      conjoin inbox {name} --channel orders --text "HTTP 503" --dry-run
    """
    return on_engine(command)


class _Manner(NamedTuple):
    dry_run: bool
    yes: bool
    who: str
    as_json: bool


def _check(keys: list[int] | None, every: bool, typed: Typed, dry_run: bool) -> None:
    ways = [bool(keys), every, not typed.says_nothing]
    if keys and sum(ways) > 1:
        raise InputError(["give either keys or a selection, not both"])
    if not any(ways):
        raise InputError(["no messages selected: give keys, a selection such as --state parked, or --all"])
    if keys and dry_run:
        raise InputError(["--dry-run: counts a selection, and keys are given"])


def _on_keys(inbox: OperatorsInbox, act: _Act, keys: list[int], who: str, as_json: bool) -> None:
    answers = inbox.operate(keys, act.operation, who)
    refused = [(key, answer) for key, answer in zip(keys, answers, strict=True) if answer is not None]
    codes = Counter(answer.code for _, answer in refused)
    _tell(act, Selected(len(keys) - len(refused), codes), as_json)
    for key, answer in refused:
        complain(f"{key}: {answer.code}: {answer.text}")
    if refused:
        raise typer.Exit(REFUSED)


def _on_selection(inbox: OperatorsInbox, act: _Act, typed: Typed, manner: _Manner) -> None:
    """What cannot be done with some of a selection is counted, and no refusal of the whole."""
    if typed.filters["state"] is None:
        typed = typed._replace(filters={**typed.filters, "state": act.state})
    asked = typed.asked(inbox.now)
    if manner.dry_run or not manner.yes:
        would = inbox.count(asked, act.operation)
        if manner.dry_run:
            _tell(act, would, manner.as_json, would=True)
            return
        typer.confirm(f"{would.changed:,} messages would be {act.done}. Go on?", abort=True, err=True)
    _tell(act, inbox.operate_on_all(asked, act.operation, manner.who), manner.as_json)


def _tell(act: _Act, selected: Selected, as_json: bool, would: bool = False) -> None:
    refused = {code: selected.refused[code] for code in sorted(selected.refused)}
    said = f"{selected.changed:,} messages {'would be ' if would else ''}{act.done}"
    said += f", {sum(refused.values()):,} not: {in_words(refused, '')}" if refused else ""
    tell({"changed": selected.changed, "refused": refused, "dry_run": would}, said, as_json)


pause, resume, retry, release, delete = (_command(name, act) for name, act in _ACTS.items())
