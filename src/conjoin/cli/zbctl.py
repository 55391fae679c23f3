"""The words of zbctl: two where we have one, so that lines written for it work here."""

from collections.abc import Sequence

SPELLINGS: dict[tuple[str, ...], str] = {
    ("deploy", "resource"): "deploy",
    ("deploy", "process"): "deploy",
    ("create", "instance"): "create",
    ("publish", "message"): "publish",
    ("broadcast", "signal"): "signal",
    ("activate", "jobs"): "activate",
    ("complete", "job"): "complete",
    ("fail", "job"): "fail",
    ("throwError", "job"): "throw-error",
    ("throw-error", "job"): "throw-error",
    ("update", "retries"): "update-retries",
    ("cancel", "instance"): "cancel",
    ("set", "variables"): "set-variables",
    ("resolve", "incident"): "resolve",
}


def as_ours(arguments: Sequence[str]) -> list[str]:
    """A message that is itself called `message` is `publish message message`, as in zbctl."""
    ours = SPELLINGS.get(tuple(arguments[:2]))
    return list(arguments) if ours is None else [ours, *arguments[2:]]
