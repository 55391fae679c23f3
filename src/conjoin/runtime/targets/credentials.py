"""Credentials of a target: a user with a password, a bearer token, or none.

They are shown nowhere: not in `repr`, not in a problem, and `hide` takes them out of texts that others have written.
"""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field

HIDDEN = "***"
_VARIABLE = "$"


class Secret(str):
    """A text that `repr` does not show."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(HIDDEN if self else "")


def read_secret(written: str, environment: Mapping[str, str]) -> str:
    """As written, or the variable of the environment that `$NAME` names. ValueError: there is none."""
    if not written.startswith(_VARIABLE):
        return written
    variable = written.removeprefix(_VARIABLE)
    if not environment.get(variable):
        raise ValueError(f"there is no variable {variable} in the environment")
    return environment[variable]


@dataclass(frozen=True, slots=True)
class Credentials:
    """Nothing given: the target is called without."""

    user: str = ""
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)

    def header(self) -> str:
        """The value of the header; empty for none."""
        if self.token:
            return f"Bearer {self.token}"
        return f"Basic {self._pair()}" if self.user else ""

    def problem(self) -> tuple[str, str] | None:
        """Which of them cannot be used, and why, without showing it."""
        if self.token and (self.user or self.password):
            return "token", "there is also a user or a password; only one of both can be sent"
        if self.password and not self.user:
            return "password", "there is no user"
        if ":" in self.user:
            return "user", "must not have a colon"
        if not (self.token.isascii() and self.token.isprintable()) or " " in self.token:
            return "token", "has characters that no token has"
        return None

    def hide(self, text: str) -> str:
        for secret in (self.token, self._pair() if self.user else "", self.password):
            if secret:
                text = text.replace(secret, HIDDEN)
        return text

    def _pair(self) -> str:
        return b64encode(f"{self.user}:{self.password}".encode()).decode()

    def close(self) -> None:
        """Nothing is open."""
