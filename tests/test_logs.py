"""The log: one line a record whatever clients send, bounded, with the id of the request."""

import io
import json
import logging
from collections.abc import Iterator

import pytest

from conjoin import logs

LOG = logging.getLogger("conjoin.test")


@pytest.fixture
def restored() -> Iterator[None]:
    """The log of the tests as it was."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:], root.level = handlers, level
    root.setLevel(level)


def configured(level: str = "warning", form: str = "text") -> io.StringIO:
    stream = io.StringIO()
    logs.configure(level, form, stream)
    return stream


@pytest.mark.usefixtures("restored")
def test_line_has_time_level_logger_and_message() -> None:
    stream = configured()
    LOG.warning("shard %d is slow", 3)
    LOG.info("not told")
    time, level, name, rest = stream.getvalue().split(" ", 3)
    assert time.endswith("Z")
    assert (level, name, rest) == ("WARNING", "conjoin.test:", "shard 3 is slow\n")


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize("form", ["text", "json"])
def test_what_a_client_sent_cannot_begin_a_line(form: str) -> None:
    stream = configured(form=form)
    LOG.warning("no such thing: %s", "x\n2030-01-01 ERROR forged\r\x1b[2J\u2028end")
    assert len(stream.getvalue().splitlines()) == 1
    assert "\x1b" not in stream.getvalue()


@pytest.mark.usefixtures("restored")
def test_traceback_is_indented_even_where_an_error_has_lines_of_its_own() -> None:
    stream = configured()
    try:
        raise ValueError("first\n2030-01-01T00:00:00.000Z ERROR forged")
    except ValueError:
        LOG.exception("failed")
    first, *others = stream.getvalue().splitlines()
    assert first.endswith("failed")
    assert others
    assert all(line.startswith("  ") for line in others)


@pytest.mark.usefixtures("restored")
def test_json_is_an_object_a_line_with_the_id_of_the_request() -> None:
    stream = configured(form="json")
    with logs.answering("r-1"):
        LOG.warning("told")
    LOG.warning("outside")
    first, second = map(json.loads, stream.getvalue().splitlines())
    assert (first["request_id"], first["level"], first["message"]) == ("r-1", "warning", "told")
    assert "request_id" not in second


@pytest.mark.usefixtures("restored")
def test_long_messages_and_tracebacks_are_cut() -> None:
    stream = configured()
    try:
        raise ValueError("y" * 1_000_000)
    except ValueError:
        LOG.exception("x" * 1_000_000)
    assert len(stream.getvalue()) < 30_000


@pytest.mark.usefixtures("restored")
def test_records_that_are_alike_are_counted_and_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = configured()
    now = 1_000.0
    monkeypatch.setattr(logs, "monotonic", lambda: now)
    for number in range(5_000):
        LOG.warning("connection %d was refused", number)
        if number % 1_000 == 0:
            LOG.warning("another thing")
    lines = stream.getvalue().splitlines()
    assert len(lines) == logs.ALIKE + 5
    now += logs.ALIKE_WITHIN_S
    for number in range(1):
        LOG.warning("connection %d was refused", number)
    assert len(stream.getvalue().splitlines()) > len(lines)


@pytest.mark.usefixtures("restored")
def test_how_many_were_left_out_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = configured()
    now = 1_000.0
    monkeypatch.setattr(logs, "monotonic", lambda: now)
    for number in range(102):
        now += logs.ALIKE_WITHIN_S if number == 101 else 0
        LOG.warning("connection %d was refused", number)
    assert stream.getvalue().splitlines()[-1].endswith("connection 101 was refused (and 81 more like it before)")


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize(("level", "told"), [("warning", ""), ("info", ""), ("debug", "ignored")])
def test_what_a_library_raises_as_well_is_told_once(level: str, told: str) -> None:
    library = logging.getLogger("psycopg")
    stream = configured(level)
    try:
        library.warning("error ignored")
        assert told in stream.getvalue()
        assert bool(stream.getvalue()) == bool(told)
    finally:
        library.setLevel(logging.NOTSET)
