"""The correlation half of the kernel: messages, subscriptions, marks and locks, by tenant and correlation key.

`decide(space, command, catalog)` reads and answers with events; `event.apply(space)` is the only writer. It knows
nothing of processes: it speaks with the other half through commands and events.
"""

from conjoin.kernel.correlation.decide import decide
from conjoin.kernel.correlation.messages import Message, Subscription
from conjoin.kernel.correlation.state import KeySpace

__all__ = ["KeySpace", "Message", "Subscription", "decide"]
