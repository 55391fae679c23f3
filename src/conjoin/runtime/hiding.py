"""Hiding: values of variables that whoever looks at a store is not shown, by the names of the variables.

Only what is shown changes. Rules see every value, and so does whoever works on a job.
"""

import re
from collections.abc import Iterable, Mapping
from fnmatch import translate
from typing import Any

MARK = "(hidden)"


class Hiding:
    """Of names that meet a pattern, at any depth; * stands for any characters, and large letters are as small ones."""

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        together = "|".join(translate(pattern) for pattern in patterns)
        self._pattern = re.compile(together, re.IGNORECASE) if together else None

    def hides(self, name: str) -> bool:
        return self._pattern is not None and self._pattern.match(name) is not None

    def of(self, variables: Mapping[str, Any]) -> Mapping[str, Any]:
        if self._pattern is None:
            return variables
        return {name: self.value(name, value) for name, value in variables.items()}

    def value(self, name: str, value: Any) -> Any:
        return MARK if self.hides(name) else self._inside(value)

    def _inside(self, value: Any) -> Any:
        if self._pattern is None:
            return value
        if isinstance(value, Mapping):
            return self.of(value)
        return [self._inside(item) for item in value] if isinstance(value, list) else value


NOTHING_HIDDEN = Hiding()
