"""The inbox's rules: messages that are tried in batches, retried, parked and operated on, as pure functions.

A message comes in through `accept`; `due_at_of` says when something happens to it; `plan` says which of a group are
tried at an instant; `book` notes the outcome of an attempt, `operate` what an operator did. It knows no store and no
target: others keep the rows and make the calls. Invariant: a well-typed call never raises, and no message gets lost.
"""

from conjoin.kernel.inbox.accepting import accept
from conjoin.kernel.inbox.due import due_at_of
from conjoin.kernel.inbox.message import InboxMessage
from conjoin.kernel.inbox.operations import operate
from conjoin.kernel.inbox.outcomes import book
from conjoin.kernel.inbox.run import plan
from conjoin.kernel.inbox.settings import PRESETS, InboxSettings
from conjoin.kernel.inbox.verdicts import verdict_of

__all__ = ["PRESETS", "InboxMessage", "InboxSettings", "accept", "book", "due_at_of", "operate", "plan", "verdict_of"]
