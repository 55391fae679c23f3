"""The table `schedule` of a pipeline's file: the schedule of an inbox, of a store or of tables. What is wrong with it.

[schedule]                        [schedule]
store = "postgresql://..."        tables = "lake/inbox"       with sources.subscriptions, and sources.messages
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import PlainValidator

from conjoin.errors import SettingsError
from conjoin.kernel.policies import PROFILES, read_policies
from conjoin.runtime.inbox.configuration import read_inbox
from conjoin.setting_tables import SettingTable, Text, one_of

if TYPE_CHECKING:
    from conjoin.pipeline.declared.file import PipelineTable

_OF_TABLES = ("format", "channel", "position", "policies")
_SOURCES = ("messages", "subscriptions")


def _table(value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError("is not a table")
    return dict(value)


class ScheduleTable(SettingTable):
    """`inbox` is what is `[inbox]` elsewhere; without it that of the settings. What follows `tables` is for them."""

    store: Text = ""
    inbox: Annotated[dict[str, Any] | None, PlainValidator(_table)] = None
    tables: Text = ""
    format: Annotated[str, one_of("parquet", "delta")] = "parquet"
    channel: Text = ""
    position: Text = ""
    profile: Annotated[str, one_of(*PROFILES)] = "zeebe"
    policies: Annotated[dict[str, Any], PlainValidator(_table)] = {}  # noqa: RUF012 - never changed

    def contradictions(self) -> Iterable[tuple[str, str]]:
        if bool(self.store) == bool(self.tables):
            yield "store", "or tables: say one of them: a store, or the folder of an inbox that is a table"
        if self.store:
            given = [name for name in (*_OF_TABLES, "profile") if name in self.model_fields_set]
            yield from ((name, "is for tables; a store has its own") for name in given)
        _, problems = read_policies(self.profile, self.policies)
        yield from (("policies", problem) for problem in problems)
        try:
            _, channels = read_inbox(self.inbox or {})
        except SettingsError as error:
            yield from (("inbox", problem.removeprefix("inbox: ")) for problem in error.problems)
            return
        if self.inbox is not None and self.channel and self.channel not in channels:
            yield "channel", f"there is no channel {self.channel!r} in schedule.inbox"


def problems_of_schedule(table: "PipelineTable", schedule: ScheduleTable) -> Iterator[str]:
    """Of what stands beside it."""
    if table.sinks:
        yield "sinks: they get what correlate says; what a schedule says is in its store, or in its tables"
    if schedule.store:
        yield from (f"sources.{name}: a store's inbox is filled by receive" for name in table.sources)
        return
    if "subscriptions" not in table.sources:
        yield "sources.subscriptions: is missing: who waits?"
    for name, source in table.sources.items():
        if name not in _SOURCES:
            yield f"sources.{name}: a schedule takes {' and '.join(_SOURCES)}"
        elif source.stream:
            yield f"sources.{name}.stream: a schedule reads it anew at each run: stream = false"
