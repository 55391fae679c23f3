"""The words of zbctl, verb first, so that lines written for it work here."""

from collections.abc import Sequence

SPELLINGS: dict[tuple[str, ...], tuple[str, str]] = {
    ("deploy", "resource"): ("model", "deploy"),
    ("deploy", "process"): ("model", "deploy"),
    ("create", "instance"): ("instance", "create"),
    ("publish", "message"): ("message", "publish"),
    ("broadcast", "signal"): ("message", "signal"),
    ("activate", "jobs"): ("job", "activate"),
    ("complete", "job"): ("job", "complete"),
    ("fail", "job"): ("job", "fail"),
    ("throwError", "job"): ("job", "throw-error"),
    ("throw-error", "job"): ("job", "throw-error"),
    ("update", "retries"): ("job", "update-retries"),
    ("cancel", "instance"): ("instance", "cancel"),
    ("set", "variables"): ("instance", "set-variables"),
    ("resolve", "incident"): ("instance", "resolve"),
}


def as_ours(arguments: Sequence[str]) -> list[str]:
    """A message that is itself called `message` is `publish message message`, as in zbctl."""
    ours = SPELLINGS.get(tuple(arguments[:2]))
    return list(arguments) if ours is None else [*ours, *arguments[2:]]
