"""Late answers: what became of a synchronous message, read from its row, when another process has brought it about."""

from conjoin.errors import OutcomeUnknown
from conjoin.kernel.correlation import events as e
from conjoin.runtime.codec.messages import read_message
from conjoin.runtime.engine.stored_catalog import CatalogView
from conjoin.store.port import ShardSnapshot


def stored_answer(snapshot: ShardSnapshot, message_key: int, view: CatalogView) -> e.Event | None:
    """None while it is still undecided, or on its way to somebody who has not answered."""
    for row in snapshot.messages([message_key]):
        message, _ = read_message(row, view.policy_of(row.name, row.policy_version), {})
        if isinstance(message.ended, e.MessageRefused):
            return message.ended
        if message.targets and not message.sync:
            first = message.targets[0]
            return e.MessageAnswered(message, first.instance_id, first.at)
    return None


def accepted_at_least(error: BaseException) -> OutcomeUnknown:
    """A request was committed, and what follows from it on another shard failed: nobody may be told it is not done."""
    return OutcomeUnknown(f"it was accepted, but what follows from it has failed and is tried again ({error})")
