"""A step: one command being decided. It collects what happened and what is to be done next, in one list.

Nothing is applied while a step is decided, so what the step itself wrote into variables is remembered here for the
expressions that it evaluates afterwards.
"""

from collections.abc import Mapping
from typing import Any, Final, final

from conjoin.kernel.definitions import Definitions
from conjoin.kernel.process.commands import Command, ForKey
from conjoin.kernel.process.events import CommandRefused, Event
from conjoin.kernel.process.state import ProcessState

Item = Event | Command | ForKey

Own = dict[str, Any] | None
"""The variables that an element begins with."""


@final
class Step:
    __slots__ = ("at", "definitions", "next_key", "out", "own", "state", "written")

    def __init__(self, state: ProcessState, definitions: Definitions) -> None:
        self.state = state
        self.definitions = definitions
        self.at = 0
        self.out: list[Item] = []
        self.written: dict[int, Mapping[str, Any]] | None = None
        self.own: Own = None
        """What an element that is being activated keeps if it fails."""
        self.next_key = state.keys.next

    def new_key(self) -> int:
        key = self.next_key
        self.next_key = key + 1
        return key

    def refuse(self, code: str, text: str) -> None:
        self.out.append(CommandRefused(code, text))


@final
class Failure(Exception):  # noqa: N818 - it never leaves `decide`, which makes an incident of it
    """Why an element cannot go on. What was decided before it is raised stands."""

    def __init__(self, error_type: str, text: str) -> None:
        super().__init__(text)
        self.error_type = error_type
        self.text = text


EXTRACT_VALUE_ERROR: Final = "EXTRACT_VALUE_ERROR"
CONDITION_ERROR: Final = "CONDITION_ERROR"
IO_MAPPING_ERROR: Final = "IO_MAPPING_ERROR"
JOB_NO_RETRIES: Final = "JOB_NO_RETRIES"
UNHANDLED_ERROR_EVENT: Final = "UNHANDLED_ERROR_EVENT"
CALLED_ELEMENT_ERROR: Final = "CALLED_ELEMENT_ERROR"
DUPLICATE_SUBSCRIPTION: Final = "DUPLICATE_SUBSCRIPTION"
