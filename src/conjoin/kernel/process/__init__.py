"""The process half of the kernel: instances, tokens, variables, jobs, timers and incidents, by instance.

`decide(state, command, definitions)` reads, and answers with events and with the commands that follow;
`event.apply(state)` is the only writer. It knows nothing of how messages are matched: it speaks with the other half
through commands.
"""

from conjoin.kernel.process.decide import decide
from conjoin.kernel.process.state import ProcessState

__all__ = ["ProcessState", "decide"]
