"""The inbox over REST: received, listed, shown, and looked after."""

from tests.gateway.rest.conftest import Rest

INBOX = "/conjoin/v1/inbox"


def received(rest: Rest, id_: str, **more: object) -> str:
    """The key of a message that nobody waits for."""
    row = {"id": id_, "name": "paid", "key": f"inbox-{id_}", "variables": {"amount": 1}, **more}
    answer = rest.post(f"{INBOX}/orders", json=row)
    assert (answer.status_code, answer.json()["persisted"]) == (202, 1)
    [item] = rest.call("GET", f"{INBOX}?id={id_}")["items"]
    return str(item["key"])


def test_message_is_received_once_listed_and_shown(rest: Rest) -> None:
    key = received(rest, "r-1")
    again = rest.post(f"{INBOX}/orders", json={"id": "r-1", "name": "paid", "key": "inbox-r-1"})
    assert again.json()["duplicate"] == 1
    shown = rest.call("GET", f"{INBOX}/messages/{key}")
    assert (shown["state"], shown["channel"], shown["payload"]) == ("waiting", "orders", '{"amount":1}')
    assert rest.problem("GET", f"{INBOX}/messages/7")[0] == 404
    assert rest.problem("GET", f"{INBOX}?state=lost")[0] == 400


def test_lines_are_received_with_headers_of_the_request(rest: Rest) -> None:
    lines = b'{"id": "l-1", "name": "paid", "key": "a"}\n\nnonsense\n{"id": "l-2", "name": "paid", "key": "b"}'
    headers = {"content-type": "application/x-ndjson", "X-CORRELATE-PayloadType-FQCN": "orders.Paid"}
    told = rest.post(f"{INBOX}/orders", content=lines, headers=headers).json()
    assert told == {"channel": "orders", "received": 3, "accepted": 2, "persisted": 2, "dead_lettered": 1}
    assert len(rest.call("GET", f"{INBOX}?type=orders.Paid")["items"]) == 2


def test_line_of_a_named_source_is_received_once_and_what_cannot_be_read_is_listed(rest: Rest) -> None:
    lines = b'{"name": "paid", "key": "from-a-file"}\n\nnonsense'
    headers = {"content-type": "application/x-ndjson"}
    path = f"{INBOX}/orders?source=day.jsonl&first=5001"
    assert rest.post(path, content=lines, headers=headers).json()["persisted"] == 1
    assert rest.post(path, content=lines, headers=headers).json()["duplicate"] == 1
    [item] = rest.call("GET", f"{INBOX}?key=from-a-file")["items"]
    assert item["message_id"] == "day.jsonl-5001"
    letter, *_ = rest.call("GET", "/conjoin/v1/dead-letters?part=day.jsonl")["items"]
    assert (letter["source"], letter["position"], letter["row"]) == ("orders", 5003, "nonsense")
    assert rest.problem("GET", "/conjoin/v1/dead-letters?reason=unlucky")[0] == 400
    for wrong in ("first=one", "sauce=x", "source=a%00b", f"source={'x' * 201}"):
        assert rest.problem("POST", f"{INBOX}/orders?{wrong}", {})[0] == 400, wrong


def test_channels_that_are_not_there_or_closed_take_nothing(rest: Rest) -> None:
    assert rest.problem("POST", f"{INBOX}/nowhere", {})[0] == 404
    assert rest.problem("POST", f"{INBOX}/closed", {})[0] == 400


def test_message_is_paused_resumed_set_corrected_and_deleted(rest: Rest) -> None:
    one = f"{INBOX}/messages/{received(rest, 'o-1')}"
    assert rest.call("POST", f"{one}/pause")["state"] == "paused"
    assert rest.problem("POST", f"{one}/retry")[0] == 409
    assert rest.call("POST", f"{one}/resume")["state"] == "waiting"
    assert rest.problem("POST", f"{one}/release")[0] == 409
    told = rest.call("PATCH", one, {"attempts": 1, "next_retry_at": "2030-01-01T00:00:00Z"})
    assert (told["attempts"], told["next_retry_at"]) == (1, "2030-01-01T00:00:00Z")
    assert rest.problem("PATCH", one, {})[0] == 400
    assert rest.problem("PATCH", one, {"attempts": -1})[0] == 400
    rest.call("PUT", one, {"payload": '{"amount": 2}', "hint": {"key": "mended"}})
    shown = rest.call("GET", one)
    assert (shown["payload"], shown["correlation_key"]) == ('{"amount": 2}', "mended")
    assert rest.problem("PUT", one, {"hint": {"kee": "x"}})[0] == 400
    assert rest.call("DELETE", one)["state"] == "deleted"
    assert rest.problem("POST", f"{one}/pause")[0] == 409
    assert [line["kind"] for line in shown["history"]] == [
        "pause",
        "resume",
        "set_attempts",
        "set_next_retry",
        "correct",
    ]
    assert rest.problem("POST", f"{INBOX}/messages/7/pause")[0] == 404


def test_selection_is_counted_before_it_is_changed(rest: Rest) -> None:
    for number in range(3):
        received(rest, f"s-{number}", type="selected")
    wanted = {"operation": "pause", "filters": {"type": "selected"}}
    path = f"{INBOX}/messages/operations"
    assert rest.call("POST", path, wanted) == {"dry_run": True, "changed": 3, "refused": {}}
    assert len(rest.call("GET", f"{INBOX}?type=selected&state=waiting")["items"]) == 3
    assert rest.call("POST", path, wanted | {"dry_run": False})["changed"] == 3
    assert len(rest.call("GET", f"{INBOX}?type=selected&state=paused")["items"]) == 3
    assert rest.problem("POST", path, {"operation": "explode"})[0] == 400
    assert rest.problem("POST", path, wanted | {"filters": {"nonsense": "x"}})[0] == 400
