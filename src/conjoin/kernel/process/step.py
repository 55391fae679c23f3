"""A step: one command being decided. It collects what happened and what is to be done next, in one list.

Nothing is applied while a step is decided, so what the step itself wrote into variables is remembered here for the
expressions that it evaluates afterwards.
"""

from collections.abc import Mapping
from typing import Any, final

from conjoin.kernel.definitions import Definitions
from conjoin.kernel.process.commands import Command, ForKey
from conjoin.kernel.process.events import Event
from conjoin.kernel.process.state import ProcessState

Item = Event | Command | ForKey


class Step:
    __slots__ = ("at", "definitions", "next_key", "out", "state", "written")

    def __init__(self, state: ProcessState, definitions: Definitions) -> None:
        self.state = state
        self.definitions = definitions
        self.at = 0
        self.out: list[Item] = []
        self.written: dict[int, Mapping[str, Any]] | None = None
        self.next_key = state.keys.next

    def new_key(self) -> int:
        key = self.next_key
        self.next_key = key + 1
        return key


@final
class Failure:
    """Why an element cannot go on: what becomes an incident."""

    __slots__ = ("error_type", "text")

    def __init__(self, error_type: str, text: str) -> None:
        self.error_type = error_type
        self.text = text


EXTRACT_VALUE_ERROR = "EXTRACT_VALUE_ERROR"
CONDITION_ERROR = "CONDITION_ERROR"
IO_MAPPING_ERROR = "IO_MAPPING_ERROR"
JOB_NO_RETRIES = "JOB_NO_RETRIES"
UNHANDLED_ERROR_EVENT = "UNHANDLED_ERROR_EVENT"
CALLED_ELEMENT_ERROR = "CALLED_ELEMENT_ERROR"
DUPLICATE_SUBSCRIPTION = "DUPLICATE_SUBSCRIPTION"
