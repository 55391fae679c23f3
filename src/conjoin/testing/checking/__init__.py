"""A history checker: was everything that a store has acknowledged kept, once each, whatever happened meanwhile?

    from conjoin.testing.checking import HistoryFile, check, read_history

A client writes down what it asks before it asks (`HistoryFile.made`), and the answer (`HistoryFile.answered`). Each
request carries a variable of its own (`marked`), so that its traces are found in the tables; the models must let it
through to the instance (no output mappings). When all is quiet again, after a last `Broker.tick`,
`check(read_history(file), store)` compares the two and says yes, no or unknown.
"""

from conjoin.testing.checking.check import Finding, check
from conjoin.testing.checking.history import (
    HistoryFile,
    RecordedHistory,
    RequestAnswered,
    RequestMade,
    marked,
    read_history,
)

__all__ = [
    "RequestAnswered",
    "RequestMade",
    "Finding",
    "RecordedHistory",
    "HistoryFile",
    "check",
    "marked",
    "read_history",
]
