"""A range between two points, each end included or not; and which points it includes."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Range:
    start: Any
    end: Any
    start_included: bool = True
    end_included: bool = True
