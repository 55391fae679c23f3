"""The options of `conjoin inbox`: by what messages are chosen, and who says so."""

import getpass
import os
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import typer

from conjoin.cli.list_options import read_when
from conjoin.kernel.inbox.message import FAULTS, STATES
from conjoin.kernel.storable import LARGEST_INT64
from conjoin.runtime.reading.lists import ListQuery

_PANEL = "Which messages"


def _choice(flags: str, help_: str, metavar: str = "TEXT") -> Any:
    return typer.Option(*flags.split(), metavar=metavar, help=help_, show_default=False, rich_help_panel=_PANEL)


MessageKey = Annotated[
    int, typer.Argument(min=0, max=LARGEST_INT64, metavar="KEY", help="As list prints it.", show_default=False)
]
State = Annotated[str | None, _choice("--state", f"{', '.join(STATES)}.", "STATE")]
ChannelName = Annotated[str | None, _choice("--channel", "Only of this channel.", "NAME")]
Type = Annotated[str | None, _choice("--type", "Only of this type, such as orders.Paid.", "TYPE")]
TargetName = Annotated[str | None, _choice("--target", "Only for this target.", "NAME")]
Name = Annotated[str | None, _choice("--name", "Only with this message name.", "NAME")]
Key = Annotated[str | None, _choice("--correlationKey --key", "Only with this correlation key.", "KEY")]
MessageId = Annotated[str | None, _choice("--messageId --id", "Only with this id.", "ID")]
TenantId = Annotated[str | None, _choice("--tenantId --tenant", "Only of this tenant.", "TENANT")]
ErrorClass = Annotated[str | None, _choice("--error", f"Last error: {', '.join(FAULTS)}.", "CLASS")]
ErrorText = Annotated[str | None, _choice("--text", "Only with this in the text of the last error.")]
Group = Annotated[str | None, _choice("--group", "Only of this group, as show prints it.", "GROUP")]
Since = Annotated[str | None, _choice("--since", "Ingested from then on: ISO 8601, or 1h for an hour ago.", "WHEN")]
Until = Annotated[str | None, _choice("--until", "Ingested before: 1d is what is older than a day.", "WHEN")]
Who = Annotated[
    str | None, typer.Option("--who", metavar="NAME", help="Who does it. Default: your user name.", show_default=False)
]


class Typed(NamedTuple):
    """What is said of the messages, as it was typed."""

    filters: Mapping[str, str | None]
    since: str | None
    until: str | None

    @property
    def says_nothing(self) -> bool:
        return not any(value is not None for value in (*self.filters.values(), self.since, self.until))

    def asked(self, now: int, limit: int = 50, after: str | None = None) -> ListQuery:
        given = {name: value for name, value in self.filters.items() if value is not None}
        since, until = read_when(self.since, "--since", now), read_when(self.until, "--until", now)
        return ListQuery(given, since, until, limit, after)


def user(who: str | None) -> str:
    """Whoever is named, or the user of this process, whom not every system can name."""
    if who:
        return who
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"
