"""Options and arguments that several commands share, each declared once.

Flags of settings (`--data`, `--server`, `--master`, ...) are not here: `conjoin.settings` declares them.
"""

from pathlib import Path
from typing import Annotated, Any

import typer

from conjoin.kernel.storable import LARGEST_INT64, whole_number


def option(flags: str, help: str, metavar: str | None = None, panel: str | None = None, **more: Any) -> Any:
    """Without flags it has the name of its parameter. The default is not shown, unless `show_default` says so."""
    more = {"show_default": False, **more}
    return typer.Option(*flags.split(), metavar=metavar, help=help, rich_help_panel=panel, **more)


def record_key(help: str, metavar: str = "KEY") -> Any:
    return typer.Argument(min=0, max=LARGEST_INT64, metavar=metavar, help=help, show_default=False)


def _filter(flags: str, help: str, metavar: str | None = None, panel: str | None = None) -> Any:
    return Annotated[str | None, option(flags, help, metavar, panel)]


Variables = Annotated[
    str,
    option(
        *("--variables", "An object as JSON; @FILE reads it from a file, - from the standard input.", "JSON"),
        show_default=True,
    ),
]
Tenant = Annotated[str, option("--tenantId --tenant", "The tenant it belongs to.", "TENANT")]
CorrelationKey = Annotated[str, option("--correlationKey --key", "The correlation key.", "KEY")]
BusinessId = Annotated[str, option("--businessId --business-id", "The business id.", "ID")]
MessageId = Annotated[str, option("--messageId --id", "A second message with this id is refused.", "ID")]
TimeToLive = Annotated[
    str | None, option("--ttl", "How long it is kept, such as 1h. Default: from the policy", "DURATION")
]
Models = Annotated[list[Path], typer.Argument(metavar="FILE...", help="BPMN files.", show_default=False)]
Limit = Annotated[int, option("--limit", "How many at most.", show_default=True, min=1, max=10_000)]
After = Annotated[str | None, option("--after", "Continue after the previous page.", "CURSOR")]
Who = Annotated[str | None, option("--who", "Who does it. Default: your user name.", "NAME")]

PERIOD = {
    "since": _filter("--since", "From this instant on: ISO 8601, or 1h for an hour ago.", "WHEN"),
    "until": _filter("--until", "Before this instant.", "WHEN"),
}
FILTERS: dict[str, Any] = {
    "name": _filter("--name", "Only messages of this name.", "NAME"),
    "key": _filter("--correlationKey --key", "Only with this correlation key.", "KEY"),
    "id": _filter("--messageId --id", "Only with this id.", "ID"),
    "tenant": _filter("--tenantId --tenant", "Only of this tenant.", "TENANT"),
    "process": _filter("--process", "Only of this process.", "ID"),
    "instance": Annotated[int | None, option("--instance", "Only of this instance.", "KEY")],
    "element": _filter("--element", "Only at this element.", "ID"),
    "business_id": _filter("--businessId --business-id", "Only with this business id.", "ID"),
}
"""Of lists of a store, by the names that the store has for them."""


def filters(*shared: str, **own: str) -> dict[str, Any]:
    """Of one list: its own, each with its help, and some of those that lists share."""
    return {name: _filter(f"--{name}", help) for name, help in own.items()} | {name: FILTERS[name] for name in shared}


def read_answer(question: str, text: str) -> str | int:
    """Of a policy, as QUESTION=ANSWER is typed: only `expected` is a number."""
    whole = whole_number(text) if question == "expected" else None
    return text if whole is None else whole
