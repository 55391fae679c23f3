"""The history of a run: what clients asked and what they were answered, one line of JSON each, in the order it was so.

A line is in the file before the call goes on, so it survives the death of the process (not that of the machine). A
request without an answer may have been carried out or not. Clients in several processes may write to one file.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Kind = Literal["create", "publish", "correlate", "activate", "complete", "cancel", "tick"]
Outcome = Literal["done", "refused", "failed"]
_MARK = "request_"


@dataclass(frozen=True, slots=True)
class RequestMade:
    """`request` is a name of its own. `details` are what was asked for: name, key, message_id, process_id, job, ..."""

    request: str
    kind: Kind
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RequestAnswered:
    """`done` with what came of it, `refused` with the code, `failed` with an error: it may have been done."""

    request: str
    outcome: Outcome
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class RecordedHistory:
    """`gaps` are sentences about what is missing; with any of them nothing can be said for sure."""

    requests: dict[str, RequestMade] = field(default_factory=dict)
    answers: dict[str, RequestAnswered] = field(default_factory=dict)
    gaps: list[str] = field(default_factory=list)

    def outcome_of(self, request: str) -> Outcome | None:
        """None if it was not answered, or with an error: it may have happened."""
        answer = self.answers.get(request)
        return None if answer is None or answer.outcome == "failed" else answer.outcome

    def of_kind(self, *kinds: Kind) -> list[RequestMade]:
        return [made for made in self.requests.values() if made.kind in kinds]


def marked(request: str, variables: Mapping[str, Any]) -> dict[str, Any]:
    """Variables with the one that tells where they came from."""
    return {**variables, _MARK + request: True}


def marks_in(variables: Mapping[str, Any] | None) -> list[str]:
    """The requests whose variables these are."""
    return [name.removeprefix(_MARK) for name in variables or () if name.startswith(_MARK)]


class HistoryFile:
    """Appends to a file. Each line is one write, so that those of several processes do not mix."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def made(self, made: RequestMade) -> None:
        self._write(["made", made.request, made.kind, dict(made.details)])

    def answered(self, answered: RequestAnswered) -> None:
        self._write(["answered", answered.request, answered.outcome, dict(answered.details)])

    def _write(self, entry: list[Any]) -> None:
        line = json.dumps(entry).encode() + b"\n"
        if os.write(self._file, line) != len(line):
            raise OSError("a line of the history was not written as a whole")

    def close(self) -> None:
        os.close(self._file)


def read_history(path: Path) -> RecordedHistory:
    history = RecordedHistory()
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        try:
            what, request, how, details = json.loads(line)
        except ValueError:
            history.gaps.append(f"line {number} of the history cannot be read")
            continue
        if what == "made":
            _note(history, number, history.requests, RequestMade(request, how, details))
        else:
            _note(history, number, history.answers, RequestAnswered(request, how, details))
    unasked = sorted(history.answers.keys() - history.requests.keys())
    history.gaps += [
        f"request {request} was answered, and the history does not say what it asked" for request in unasked
    ]
    return history


def _note(history: RecordedHistory, number: int, known: dict[str, Any], item: RequestMade | RequestAnswered) -> None:
    if item.request in known:
        history.gaps.append(f"line {number} of the history speaks of request {item.request} once more")
    else:
        known[item.request] = item
