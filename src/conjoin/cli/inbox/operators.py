"""What an operator asks of an inbox: lists and operations, answered from a store or through a server."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from conjoin.cli.engine.port import Told, ToldPage
from conjoin.cli.engine.where import Where
from conjoin.cli.inbox.opening import opened_inbox
from conjoin.errors import CallFailed, InputError
from conjoin.kernel.inbox.operations import Operation, OperationRefused, SetAttempts, SetNextRetry
from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.client_api.inbox_orders import SIMPLE
from conjoin.runtime.inbox.inbox import Inbox, Selected
from conjoin.runtime.reading.lists import ListQuery
from conjoin.runtime.visibility.plain_values import to_plain
from conjoin.times.iso8601 import instant_text

if TYPE_CHECKING:
    from conjoin.client import Client

_STATE = ("key", "state", "attempts", "next_retry_at")
_SENT_BACK = (400, 404, 409)
"""Statuses of a refusal; with any other the server did not consider it."""


class OperatorsInbox(Protocol):
    @property
    def now(self) -> int: ...

    def page(self, asked: ListQuery) -> ToldPage: ...

    def operate(self, keys: Sequence[int], operation: str, who: str) -> list[Refusal | None]:
        """Why not, for each that it could not be done with. `operation` is one of `SIMPLE`."""

    def operate_on_all(self, asked: ListQuery, operation: str, who: str) -> Selected: ...
    def count(self, asked: ListQuery, operation: str) -> Selected: ...

    def set(self, key: int, attempts: int | None, next_retry_at: int | None, who: str) -> Told | Refusal:
        """Its state afterwards."""


class InboxOfStore:
    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox

    @property
    def now(self) -> int:
        return self._inbox.shards.now

    def page(self, asked: ListQuery) -> ToldPage:
        found = self._inbox.page(asked)
        return ToldPage([to_plain(item) for item in found.items], found.after)

    def operate(self, keys: Sequence[int], operation: str, who: str) -> list[Refusal | None]:
        answers = self._inbox.operate_on(keys, SIMPLE[operation], who)
        return [Refusal(*it) if isinstance(it, OperationRefused) else None for it in answers]

    def operate_on_all(self, asked: ListQuery, operation: str, who: str) -> Selected:
        return self._inbox.operate_on_all(asked, SIMPLE[operation], who)

    def count(self, asked: ListQuery, operation: str) -> Selected:
        return self._inbox.rehearse_on_all(asked, SIMPLE[operation])

    def set(self, key: int, attempts: int | None, next_retry_at: int | None, who: str) -> Told | Refusal:
        operations: list[Operation] = [] if attempts is None else [SetAttempts(attempts)]
        operations += [] if next_retry_at is None else [SetNextRetry(next_retry_at)]
        for operation in operations:
            answer = self._inbox.operate(key, operation, who)
            if isinstance(answer, OperationRefused):
                return Refusal(*answer)
        state: Told = to_plain({name: getattr(answer, name) for name in _STATE})
        return state


class InboxOfServer:
    """Who does something is whom the server knows by the credentials."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    @property
    def now(self) -> int:
        return time.time_ns() // 1_000

    def page(self, asked: ListQuery) -> ToldPage:
        from conjoin.cli.engine.through_server import in_query

        found = self._client.request("GET", "/conjoin/v1/inbox", query=in_query(asked))
        return ToldPage(found["items"], found["cursor"])

    def operate(self, keys: Sequence[int], operation: str, who: str) -> list[Refusal | None]:
        return [self._operated(key, operation) for key in keys]

    def _operated(self, key: int, operation: str) -> Refusal | None:
        try:
            self._client.operate_on_inbox_message(key, operation)
        except CallFailed as error:
            if error.status not in _SENT_BACK:
                raise
            return Refusal(error.reason, error.sentence)
        return None

    def operate_on_all(self, asked: ListQuery, operation: str, who: str) -> Selected:
        return self._on_all(asked, operation, dry_run=False)

    def count(self, asked: ListQuery, operation: str) -> Selected:
        return self._on_all(asked, operation, dry_run=True)

    def _on_all(self, asked: ListQuery, operation: str, dry_run: bool) -> Selected:
        if (asked.since, asked.until) != (None, None):
            raise InputError(["--since, --until: a server selects by other filters; leave them out"])
        filters = {name: str(value) for name, value in asked.filters.items()}
        found = self._client.operate_on_inbox(operation, filters, dry_run)
        return Selected(found["changed"], found["refused"])

    def set(self, key: int, attempts: int | None, next_retry_at: int | None, who: str) -> Told | Refusal:
        said: Told = {} if attempts is None else {"attempts": attempts}
        said |= {} if next_retry_at is None else {"next_retry_at": instant_text(next_retry_at)}
        try:
            state = self._client.request("PATCH", f"/conjoin/v1/inbox/messages/{key}", said)
        except CallFailed as error:
            if error.status not in _SENT_BACK:
                raise
            return Refusal(error.reason, error.sentence)
        return {name: state[name] for name in _STATE}


@contextmanager
def operators_inbox(where: Where) -> Iterator[OperatorsInbox]:
    with where.client() as client:
        if client is not None:
            yield InboxOfServer(client)
            return
    with opened_inbox(where.data, where.store) as inbox:
        yield InboxOfStore(inbox)
