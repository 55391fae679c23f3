"""Clients that publish and create all the time, and write down what they ask and what they are answered.

Each in a thread, over gRPC, REST or as lines, until its connection fails. What a failed call has asked for is asked
once more in the next round, with the same message id: it may be there by then, and must not be there twice.
"""

import json
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count, islice
from random import Random
from typing import Any

import grpc
import httpx

from conjoin.testing.checking import HistoryFile, RequestAnswered, RequestMade, marked
from tests.faults.story import Known, Story
from tests.gateway.grpc_client import Client
from tests.gateway.robust.serving import ServingProcess

LINES_AT_ONCE = 40
KEPT_FOR = 5_000
_KEYS = ("orderId", "parcelId")
_KINDS = ("create", "publish")
_REFUSED = ("ALREADY_EXISTS", "INVALID_ARGUMENT", "NOT_FOUND")


@dataclass
class Notes:
    """Of all rounds: what was asked and answered, and what to ask again."""

    history: HistoryFile
    seed: str
    unanswered: "deque[RequestMade]"
    acknowledged: int = 0

    def requests(self, round_: int, writer: str) -> Iterator[RequestMade]:
        """Without an end. Some are those of the round before that nobody has answered."""
        story, rng = Story(f"{self.seed}/{round_}", writer), Random(f"{self.seed}/{round_}/{writer}")
        for number in count():
            asked = story.request(number, Known([], []))
            if asked.kind not in _KINDS:
                continue
            name = f"r{round_}_{asked.request}"
            again = self._again() if rng.random() < 0.2 else None
            new = replace(asked, details={**_spread(asked.details, number), **_id(asked, name)})
            yield _as_new(again or new, name)

    def _again(self) -> RequestMade | None:
        try:
            return self.unanswered.popleft()
        except IndexError:
            return None

    def done(self, asked: RequestMade, key: int) -> None:
        self.history.answered(RequestAnswered(asked.request, "done", {"key": key}))
        self.acknowledged += 1

    def refused(self, asked: RequestMade, code: str) -> None:
        self.history.answered(RequestAnswered(asked.request, "refused", {"code": code}))

    def failed(self, asked: RequestMade) -> None:
        """Perhaps it was done. Creations have no id, so only messages are sent again."""
        if asked.kind == "publish":
            self.unanswered.append(asked)


def _id(asked: RequestMade, name: str) -> dict[str, str]:
    return {"message_id": name} if asked.kind == "publish" else {}


def _spread(said: Any, number: int) -> dict[str, Any]:
    """The keys of a story are few, and would collect all messages: from time to time there are others."""
    group = f"-{number // KEPT_FOR}"
    variables = {name: value + group if name in _KEYS else value for name, value in said["variables"].items()}
    return {**said, "variables": variables} | ({"key": said["key"] + group} if "key" in said else {})


def _as_new(asked: RequestMade, name: str) -> RequestMade:
    """The same once more is another request."""
    variables = {key: value for key, value in asked.details["variables"].items() if not key.startswith("request_")}
    return RequestMade(name, asked.kind, {**asked.details, "variables": marked(name, variables)})


Publisher = Callable[[ServingProcess, Notes, int], None]


def over_grpc(server: ServingProcess, notes: Notes, round_: int, writer: str = "g") -> None:
    client = Client(server.grpc)
    try:
        for asked in notes.requests(round_, writer):
            notes.history.made(asked)
            try:
                notes.done(asked, _asked_over_grpc(client, asked))
            except grpc.RpcError as error:
                if error.code().name not in _REFUSED:
                    notes.failed(asked)
                    return
                notes.refused(asked, error.code().name)
    finally:
        client.close()


def _asked_over_grpc(client: Client, asked: RequestMade) -> int:
    said, variables = asked.details, json.dumps(asked.details["variables"])
    if asked.kind == "create":
        created = client.CreateProcessInstance(bpmnProcessId=said["process_id"], variables=variables, version=-1)
        return int(created.processInstanceKey)
    about = {"correlationKey": said["key"], "messageId": said["message_id"], "timeToLive": said["ttl_ms"]}
    return int(client.PublishMessage(name=said["name"], variables=variables, **about).key)


def over_rest(server: ServingProcess, notes: Notes, round_: int) -> None:
    with httpx.Client(base_url=server.rest, timeout=20) as client:
        for asked in notes.requests(round_, "r"):
            notes.history.made(asked)
            try:
                path, body = _rest_call(asked)
                answer = client.post(path, json=body)
            except httpx.TransportError:
                notes.failed(asked)
                return
            told = answer.json()
            if answer.is_success:
                notes.done(asked, int(told.get("messageKey") or told["processInstanceKey"]))
            else:
                assert answer.status_code in (400, 404, 409), answer.text
                notes.refused(asked, told["title"])


def _rest_call(asked: RequestMade) -> tuple[str, Any]:
    said = asked.details
    if asked.kind == "create":
        return "/v2/process-instances", {"processDefinitionId": said["process_id"], "variables": said["variables"]}
    names = {"name": "name", "key": "correlationKey", "message_id": "messageId", "ttl_ms": "timeToLive"}
    body = {wire_name: said[name] for name, wire_name in names.items()}
    return "/v2/messages/publication", {**body, "variables": said["variables"]}


def as_lines(server: ServingProcess, notes: Notes, round_: int) -> None:
    messages = (asked for asked in notes.requests(round_, "b") if asked.kind == "publish")
    with httpx.Client(base_url=server.rest, timeout=20) as client:
        while True:
            some = list(islice(messages, LINES_AT_ONCE))
            for asked in some:
                notes.history.made(asked)
            try:
                _send_lines(client, some, notes)
            except httpx.TransportError:
                return


def _send_lines(client: httpx.Client, some: list[RequestMade], notes: Notes) -> None:
    lines = [
        {
            "name": it["name"],
            "key": it["key"],
            "id": it["message_id"],
            "ttl": it["ttl_ms"],
            "variables": it["variables"],
        }
        for it in (asked.details for asked in some)
    ]
    body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    kind = {"content-type": "application/x-ndjson"}
    answered = set()
    try:
        with client.stream("POST", "/conjoin/v1/messages/bulk", content=body, headers=kind) as answer:
            for line in answer.iter_lines():
                told = json.loads(line)
                asked = some[told["line"] - 1]
                answered.add(asked.request)
                if "code" in told:
                    notes.refused(asked, told["code"])
                else:
                    notes.done(asked, int(told["key"]))
    finally:
        for asked in some:
            if asked.request not in answered:
                notes.failed(asked)


PUBLISHERS: tuple[Publisher, ...] = (over_grpc, over_rest, as_lines, lambda *where: over_grpc(*where, writer="h"))
