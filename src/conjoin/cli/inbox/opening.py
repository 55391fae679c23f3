"""The inbox that a command works on: the store of --data or --store, and `[inbox]` of the settings.

Problems in the settings are reported before a store is opened, all at once, with the place it came from.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from conjoin.cli.store_option import opened_broker
from conjoin.errors import SettingsError
from conjoin.runtime.inbox.configuration import Configuration, read_configuration, read_inbox
from conjoin.runtime.inbox.inbox import Inbox
from conjoin.settings import load, place_of

SECTION = "inbox"


@contextmanager
def opened_inbox(data: str | None, store: str | None, with_targets: bool = False) -> Iterator[Inbox]:
    """Only who makes calls needs the targets, and the secrets they name."""
    configuration = inbox_configuration(with_targets)
    with opened_broker(data, store) as broker, closing(Inbox(broker, *configuration)) as inbox:
        yield inbox


@contextmanager
def inbox_at_work(data: str | None, store: str | None, spark: Callable[[], Any] | None) -> Iterator[Inbox]:
    """With its targets; its runs go through Spark if one can be started."""
    if spark is None:
        with opened_inbox(data, store, with_targets=True) as inbox:
            yield inbox
        return
    configuration = inbox_configuration(with_targets=True)
    with opened_broker(data, store) as broker:
        session = spark()
        from conjoin.pipeline.inbox import SparkInbox

        with closing(SparkInbox(session, broker, *configuration)) as inbox:
            yield inbox


def inbox_configuration(with_targets: bool) -> Configuration:
    section = load().inbox or {}
    try:
        return read_configuration(section, os.environ) if with_targets else Configuration(*read_inbox(section), {})
    except SettingsError as error:
        raise SettingsError([f"{place_of(SECTION)}: {problem}" for problem in error.problems]) from None
