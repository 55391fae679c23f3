"""Bulk publish: every line has its answer, in order, with its number; bad ones are told and skipped."""

import json
from typing import Any

from tests.gateway.rest.conftest import Rest

BULK = "/conjoin/v1/messages/bulk"
NDJSON = {"content-type": "application/x-ndjson"}


def bulk(rest: Rest, lines: bytes) -> list[Any]:
    answer = rest.post(BULK, content=lines, headers=NDJSON)
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


def test_lines_are_answered_with_their_verdicts_and_bad_ones_with_the_reason(rest: Rest) -> None:
    rest.create("order", {"orderId": "bulk-1"})
    lines = [
        b'{"name": "paid", "key": "bulk-1"}',
        b"",
        b'{"name": "paid", "key": "bulk-2", "id": "i", "ttl": "1h"}',
        b'{"name": "paid", "key": "bulk-2", "id": "i", "ttl": "1h"}',
        b"{no json",
        b'{"name": "paid", "kee": 1}',
        b'{"name": " "}',
        b'{"name": "paid", "key": "bulk-3"}',
    ]
    told = bulk(rest, b"\n".join(lines))
    assert [it["line"] for it in told] == [1, 3, 4, 5, 6, 7, 8]
    assert [it.get("verdict") for it in told] == ["correlated", "buffered", "refused", None, None, None, "discarded"]
    assert told[2]["code"] == "ALREADY_EXISTS"
    assert "is not JSON" in told[3]["error"]
    assert "did you mean key" in told[4]["error"]
    assert told[5]["error"] == "has no message name"


def test_thousands_of_lines_are_all_answered_and_all_there(rest: Rest) -> None:
    count = 2_500
    lines = b"".join(b'{"name": "many", "key": "m-%d", "ttl": "1h"}\n' % number for number in range(count))
    told = bulk(rest, lines)
    assert [it["line"] for it in told] == list(range(1, count + 1))
    assert len({it["key"] for it in told}) == count
    key = told[1_700]["key"]
    assert rest.call("GET", f"/conjoin/v1/messages/{key}")["message"]["correlation_key"] == "m-1700"


def test_client_that_reads_nothing_before_it_has_sent_everything_is_answered(rest: Rest) -> None:
    def pieces() -> Any:
        for number in range(300):
            yield b'{"name": "slow", "key": "s-%d", "variables": {"x": "%s"}}\n{"na' % (number, b"y" * 3_000)
            yield b'me": "slow"}\n'

    answer = rest.post(BULK, content=pieces(), headers=NDJSON)
    assert len(answer.text.splitlines()) == 600


def test_line_that_never_ends_is_the_last(rest: Rest) -> None:
    told = bulk(rest, b'{"name": "paid"}\n' + b"x" * 4_500_000)
    assert "longer than" in told[-1]["error"]
    assert rest.problem("POST", BULK, {})[0] == 415
