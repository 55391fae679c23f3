"""Who runs the schedule of the inbox: Spark, or this process. The setting `inbox.engine` says it, or a master does."""

from collections.abc import Callable

from conjoin.cli.invocation import SPARK, CommandCall, check_spark
from conjoin.runtime.broker import Broker
from conjoin.runtime.inbox.configuration import Configuration
from conjoin.runtime.inbox.inbox import Inbox

ENGINE = {"inbox_engine": "Spark", **SPARK}
InboxMaker = Callable[[Broker, Configuration], Inbox]


def inbox_maker(call: CommandCall, on_spark: bool = False) -> InboxMaker:
    """Checks at once whether Spark is there, where it is wanted; a session is started when the inbox is made."""
    if not (on_spark or call.settings.runs_inbox_on_spark):
        return inline
    check_spark("the schedule of the inbox on Spark (engine = spark, or a master is set; engine = inline needs none)")

    def on_session(broker: Broker, configuration: Configuration) -> Inbox:
        session = call.spark("conjoin inbox")
        from conjoin.pipeline.inbox import SparkInbox

        return SparkInbox(session, broker, *configuration)

    return on_session


def inline(broker: Broker, configuration: Configuration) -> Inbox:
    return Inbox(broker, *configuration)
