"""conjoin spark correlate on files: every format in and out, nothing lost, and days that go on from each other."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from _pytest.capture import CaptureResult

from conjoin.cli.main import run
from conjoin.settings import Settings
from tests.cli.tabular import Row, read, write, zipped

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OUTPUTS = {"verdicts", "correlations", "buffered", "open", "locks", "ids", "later", "dead_letters", "near_misses"}
CARRIED = {"buffered": "buffered", "subscriptions": "open", "locks": "locks", "ids": "ids"}
HOUR_MS = 3_600_000


def at(minute: int, day: int = 1) -> str:
    return f"2026-01-{day:02}T{8 + minute // 60:02}:{minute % 60:02}:00.000001Z"


def message(position: int, name: str, key: str, when: str, ttl_ms: int = 0, **more: str) -> Row:
    said = {"message_id": f"m-{position}", "variables": '{"text": "a \\"b\\",\\nc"}', **more}
    return {
        "name": name, "correlation_key": key, "published_at": when, "ttl_ms": ttl_ms, "position": position, **said
    }  # fmt: skip


def subscription(process: str, name: str, key: str, opened: str, closed: str | None = None) -> Row:
    return {"process_id": process, "name": name, "correlation_key": key, "opened_at": opened, "closed_at": closed,
            "subscription_id": f"{process}/{name}/{key}/{opened}", "instance_id": f"{process}-{key}"}  # fmt: skip


DAY = [
    message(1, "Paid", "o-1", at(5)),
    message(2, "Paid", "o-2", at(5), 36 * HOUR_MS),
    message(3, "Paid", "o-3", at(5), 60_000),
    message(4, "paid", "o-1", at(2)),
    message(5, "Paid", "o-2", at(6), HOUR_MS, message_id="m-2"),
    message(6, "Placed", "o-4", at(6), 24 * HOUR_MS),
    message(7, "Placed", "o-4", at(7), 72 * HOUR_MS),
    message(8, "Paid", "o-6", at(9), 3 * 24 * HOUR_MS),
]
WAITING = [
    subscription("order", "Paid", "o-1", at(1)),
    subscription("loyalty", "Paid", "o-2", at(1)),
    subscription("order", "Paid", "o-3", at(10)),
    subscription("order", "Paid", "o-5", at(1), at(50, day=2)),
]
NEXT_DAY = [
    message(11, "Paid", "o-5", at(5, day=2)),
    message(12, "Paid", "o-2", at(5, day=2), HOUR_MS, message_id="m-2"),
    message(13, "Placed", "o-4", at(6, day=2)),
    message(14, "Placed", "o-4", at(58, day=2), HOUR_MS),
]
NEXT_WAITING = [subscription("order", "Paid", "o-2", at(1, day=2)), subscription("order", "Paid", "o-6", at(59, day=2))]
STARTS = [{"process_id": "order", "name": "Placed", "element_id": "placed"}]
ENDS = [{"process_id": "order", "correlation_key": "o-4", "ended_at": at(57, day=2)}]
FIRST_DAY = {
    1: ("correlated", "waiting_instance"),
    2: ("correlated", "waiting_instance"),
    3: ("expired", "nobody_waited"),
    4: ("discarded", "ttl_zero"),
    5: ("refused", "duplicate_id"),
    6: ("correlated", "started_instance"),
    7: ("buffered", "locked"),
    8: ("buffered", "nobody_waits"),
}
BOTH_DAYS = FIRST_DAY | {
    7: ("correlated", "started_after_lock"),
    8: ("correlated", "waiting_instance_later"),
    11: ("correlated", "waiting_instance"),
    12: ("refused", "duplicate_id"),
    13: ("discarded", "ttl_zero"),
    14: ("buffered", "locked"),
}
PAIRS = Counter(
    [
        (1, "order", "order-o-1"),
        (2, "loyalty", "loyalty-o-2"),
        (2, "order", "order-o-2"),
        (6, "order", "i-5622f13d4e8c8139"),
        (7, "order", "i-a71d5c22491cf8c7"),
        (8, "order", "order-o-6"),
        (11, "order", "order-o-5"),
    ]
)


@pytest.fixture(autouse=True, params=["spark", "local"])
def engine(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: "SparkSession"
) -> str:
    """Every test by either engine, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    for key in [*Settings.model_fields, "config"]:
        monkeypatch.delenv(f"CONJOIN_{key.upper()}", raising=False)
    monkeypatch.setattr("tests.cli.test_correlate.ENGINE", request.param)
    return str(request.param)


ENGINE = "auto"


def correlate(out: str, *options: str, **tables: object) -> None:
    """Runs the command; each table is a path or a list of paths."""
    options = (*options, "--engine", ENGINE)
    flags = [
        part
        for table, paths in tables.items()
        for path in (paths if isinstance(paths, list) else [paths])
        for part in (f"--{table}", str(path))
    ]
    assert run(["correlate", *flags, "--out", out, *options]) == 0


def verdicts(*folders: str) -> dict[int, tuple[str, str]]:
    """The last verdict of each message, by position."""
    rows = [row for folder in folders for row in read(Path(folder, "verdicts"))]
    return {int(row["position"]): (row["verdict"], row["reason"]) for row in rows}


def pairs(*folders: str) -> Counter[tuple[int, str, str]]:
    rows = [row for folder in folders for row in read(Path(folder, "correlations"))]
    return Counter((int(row["position"]), row["process_id"], row["instance_id"]) for row in rows)


def written(file_format: str) -> dict[str, Path]:
    """Two days of all tables; the messages of a day are a file, those who wait a folder."""
    tables = {
        "day1/day": DAY, "day2/day": NEXT_DAY, "waiting1/part": WAITING, "waiting2/part": NEXT_WAITING,
        "starts/all": STARTS, "ends/all": ENDS,
    }  # fmt: skip
    folder = Path(file_format)
    paths = {name: write(folder / f"{name}.{file_format}", rows, file_format) for name, rows in tables.items()}
    return {name.partition("/")[0]: path.parent if name.startswith("waiting") else path for name, path in paths.items()}


def test_two_days_in_a_chain_and_every_format_out(capsys: pytest.CaptureFixture[str]) -> None:
    day, next_day = written("csv"), written("parquet")
    correlate(
        "first", "--format", "csv", "--as-of", at(59),
        messages=day["day1"], subscriptions=day["waiting1"], starts=day["starts"],
    )  # fmt: skip
    assert {folder.name for folder in Path("first").iterdir()} == OUTPUTS | {"_run.json"}
    assert verdicts("first") == FIRST_DAY
    assert [row["variables"] for row in read(Path("first/verdicts"))] == [DAY[0]["variables"]] * len(DAY)
    _is_told_plainly(capsys.readouterr())
    correlate(
        "second", "--format", "parquet", "--since", at(59),
        messages=[next_day["day2"], "first/buffered"], subscriptions=[next_day["waiting2"], "first/open"],
        starts=next_day["starts"], ends=next_day["ends"], locks="first/locks", ids="first/ids",
    )  # fmt: skip
    assert read(Path("second/dead_letters")) == []
    assert pairs("first", "second") == PAIRS
    assert verdicts("first", "second") == BOTH_DAYS


def _is_told_plainly(told: CaptureResult[str]) -> None:
    assert "8 messages in = 8 verdicts + 0 dead letters" in told.out
    assert "the name differs in case or blanks only" in " ".join(told.out.split())
    assert "correlating and writing" in told.err
    assert "\x1b" not in told.out + told.err


def test_empty_outputs_are_empty_tables_of_the_next_run() -> None:
    waiting = write(Path("waiting.jsonl"), [subscription("order", "Paid", "o-1", at(0), at(2))], "jsonl")
    first, second = (write(Path(f"{n}.jsonl"), [message(n, "Paid", "o-1", at(1, n))], "jsonl") for n in (1, 2))
    correlate("out1", "--format", "csv", messages=first, subscriptions=waiting)
    kept = {table: f"out1/{folder}" for table, folder in CARRIED.items()}
    correlate("out2", "--since", at(3), messages=[second, kept.pop("buffered")], **kept)
    assert verdicts("out1") == {1: ("correlated", "waiting_instance")}
    assert verdicts("out2") == {2: ("discarded", "ttl_zero")}


def test_lines_that_are_no_rows_are_dead_letters_and_values_are_kept_as_they_were_written(
    capsys: pytest.CaptureFixture[str],
) -> None:
    good = [
        b'{"name":"Paid","published_at":"2026-01-01T08:05:00Z","correlation_key":7,"variables":{"x": 1.50}}',
        b'{"name":"paid","published_at":"2026-01-01T08:06:00Z","correlation_key":"7","variables":{"y":null},"z":[1]}',
    ]
    bad = [b'{"name": "Paid"', b'{"name": "a"} {"name": "b"}', b"[1, 2]", b"null", b'{"name": "\xff"}']
    unusable = [b'{"name": "Paid", "published_at": "soon"}', b'{"published_at": "2026-01-01"}']
    later = [b'{"name": "Paid", "published_at": "2027-01-01"}']
    Path("day.jsonl").write_bytes(b"\xef\xbb\xbf" + b"\n".join([*good, *bad, b"", b"  ", *unusable, *later]))
    waiting = write(Path("waiting.jsonl"), [subscription("order", "Paid", "7", at(1))], "jsonl")
    write(Path("out/verdicts/part-0.parquet"), [{"position": 99, "verdict": "old", "reason": "old"}], "parquet")
    correlate(
        "out", "--as-of", at(59), "--overwrite", "--policy", "paid:on_no_match=reject", "--format", "jsonl",
        messages="day.jsonl", subscriptions=waiting,
    )  # fmt: skip
    dead = read(Path("out/dead_letters"))
    assert Counter(row["reason"] for row in dead) == {"unreadable": 5, "bad_time": 1, "missing_name": 1}
    raw = {row["row"] for row in dead if row["reason"] == "unreadable"}
    assert raw == {line.decode("utf-8", "replace") for line in bad}
    assert "10 messages in = 2 verdicts + 7 dead letters + 1 later than as_of" in capsys.readouterr().out
    rows = sorted(read(Path("out/verdicts")), key=lambda row: row["published_at"])
    assert [row["variables"] for row in rows] == ['{"x": 1.50}', '{"y":null}']
    assert [row["z"] for row in rows] == [None, "[1]"]
    assert [row["reason"] for row in rows] == ["waiting_instance", "not_found"]


def test_slips_in_keys_are_counted_in_one_line_unless_nobody_wants_it(capsys: pytest.CaptureFixture[str]) -> None:
    waiting = write(Path("waiting.csv"), [subscription("order", "Paid", f"Order-{n}", at(0)) for n in range(3)], "csv")
    day = [message(n, "Paid", key, at(1)) for n, key in enumerate(("order-0", "ORDER- 1", "2", "order-9"))]
    messages = write(Path("day.jsonl"), day, "jsonl")
    correlate("out", "--format", "csv", messages=messages, subscriptions=waiting)
    told = capsys.readouterr().out
    assert "2 messages differ from a waiting key in case or blanks only: see near_misses\n" in told
    assert "1 message differs from a waiting key in a prefix or leading zeros only: see near_misses\n" in told
    found = {row["correlation_key"]: (row["waiting_key"], row["differs"]) for row in read(Path("out/near_misses"))}
    assert found == {
        "order-0": ("Order-0", "case or blanks only"),
        "ORDER- 1": ("Order-1", "case or blanks only"),
        "2": ("Order-2", "prefix"),
    }
    correlate("without", "--no-near", messages=messages, subscriptions=waiting)
    assert "differ" not in capsys.readouterr().out
    assert not Path("without/near_misses").exists()


def test_paths_of_different_formats_and_columns_are_united(capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["name,published_at,correlation_key", f"Paid,{at(6)},o-9", "Paid,2026-01-01", "Paid,a,b,c", ""]
    write(Path("in/a.csv"), [{"correlation_key": "o-3", "name": "Paid", "published_at": at(15)}], "csv")
    Path("in/b.csv").write_text("\n".join(lines), encoding="utf-8")
    write(Path("c.parquet"), [{**DAY[0], "ttl_ms": 0}], "parquet")
    zipped(write(Path("d.jsonl"), [DAY[1]], "jsonl"))
    waiting = write(Path("waiting.csv"), WAITING, "csv")
    correlate("out", messages=["in", "c.parquet", "d.jsonl.gz"], subscriptions=waiting)
    found = {(row["correlation_key"], row["verdict"]) for row in read(Path("out/verdicts"))}
    assert found == {("o-3", "correlated"), ("o-9", "discarded"), ("o-1", "correlated"), ("o-2", "correlated")}
    dead = read(Path("out/dead_letters"))
    assert sorted(row["row"].strip() for row in dead) == ["Paid,2026-01-01", "Paid,a,b,c"]
    assert {row["reason"] for row in dead} == {"unreadable"}
    assert "6 messages in = 4 verdicts + 2 dead letters" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("files", "told"),
    [
        (["in/a.jsonl", "in/b.csv"], "messages: in holds files of more than one format: csv, jsonl"),
        (["in/a.jsonl", "in/b.txt"], "messages: in: b.txt is not .parquet, .jsonl, .ndjson, .json or .csv"),
        (["in/_hidden", "in/.hidden.csv"], "messages: in is a folder without any file"),
        (["in/a.parquet"], "messages: in cannot be read as parquet: "),
    ],
)
def test_folder_that_cannot_be_read_is_named(files: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    for file in files:
        write(Path(file), DAY[:1], "jsonl")
    write(Path("waiting.jsonl"), WAITING, "jsonl")
    assert run(["correlate", "--messages", "in", "--subscriptions", "waiting.jsonl", "--out", "out"]) == 2
    error = capsys.readouterr().err
    assert f"conjoin: {told}" in error
    assert "Traceback" not in error
    assert not Path("out").exists()


def test_missing_columns_are_all_named_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    write(Path("day.jsonl"), [{"name": "Paid"}], "jsonl")
    write(Path("waiting.csv"), [{"name": "Paid", "opened_at": at(1)}], "csv")
    assert run(["correlate", "--messages", "day.jsonl", "--subscriptions", "waiting.csv", "--out", "out"]) == 2
    error = capsys.readouterr().err
    assert "conjoin: messages: column published_at is missing" in error
    assert "conjoin: subscriptions: column process_id is missing" in error


def test_a_run_goes_on_after_the_one_before(capsys: pytest.CaptureFixture[str]) -> None:
    day, next_day = written("csv"), written("jsonl")
    correlate(
        "first", "--as-of", at(59), messages=day["day1"], subscriptions=day["waiting1"], starts=day["starts"],
    )  # fmt: skip
    capsys.readouterr()
    correlate(
        "second", messages=next_day["day2"], subscriptions=next_day["waiting2"], starts=day["starts"],
        ends=next_day["ends"], after="first",
    )  # fmt: skip
    told = capsys.readouterr().out
    assert verdicts("first", "second") == BOTH_DAYS
    assert pairs("first", "second") == PAIRS
    assert "8 messages in (4 new, 4 carried over) = 8 verdicts" in told
    assert "buffered 4 (3 taken once)" in told


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--after", "nowhere"], "--after: nowhere holds no finished run of correlate"),
        (["--after", "first", "--policy", "*:time_to_live=1h"], "was made under other policies"),
        (["--after", "first", "--since", at(59)], "--since is taken from the run before"),
        (["--after", "first", "--ids", "first/ids"], "--ids is taken from the run before"),
    ],
)
def test_a_run_that_nothing_can_go_on_from_is_refused(
    options: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    day = written("jsonl")
    tables = ["--messages", str(day["day1"]), "--subscriptions", str(day["waiting1"])]
    assert run(["correlate", *tables, "--out", "first", "--engine", "local"]) == 0
    assert run(["correlate", *tables, "--out", "second", "--engine", ENGINE, *options]) == 2
    assert told in capsys.readouterr().err
    assert not Path("second").exists()


def test_columns_of_other_names_are_mapped(capsys: pytest.CaptureFixture[str]) -> None:
    theirs = {"correlation_key": "order_no", "published_at": "sent"}
    renamed = [{theirs.get(name, name): value for name, value in row.items()} for row in DAY]
    messages = write(Path("theirs.csv"), renamed, "csv")
    waiting = written("jsonl")["waiting1"]
    correlate(
        "out", "--as-of", at(59), "--map", "key=order_no", "--map", "messages.published_at=sent",
        messages=messages, subscriptions=waiting,
    )  # fmt: skip
    assert verdicts("out")[1] == FIRST_DAY[1]
    assert verdicts("out")[3] == FIRST_DAY[3]
    for flag, told in (
        ("key=order_nr", "no file has a column order_nr; is it order_no?"),
        ("keys=order_no", "keys is no column of messages or subscriptions"),
        ("name=order_no", "theirs.csv has a column name beside order_no: which of them counts?"),
        ("nonsense", "is not like key=order_no"),
    ):
        tables = ["--messages", str(messages), "--subscriptions", str(waiting)]
        assert run(["correlate", *tables, "--out", "no", "--engine", ENGINE, "--map", flag]) == 2
        assert told in capsys.readouterr().err
        assert not Path("no").exists()


def test_one_mapping_is_for_both_tables_also_when_spark_takes_over() -> None:
    Path("theirs.csv").write_text(f"name,Order No,published_at\nPaid,o-1,{at(5)}\n", encoding="utf-8")
    # Something behind a closing quote makes the second table Spark's after the first one was read without it.
    for engine, element in ((ENGINE, "x"), ("auto", '"x"y')):
        rows = f"process_id,name,Order No,opened_at,element_id\norder,Paid,o-1,{at(1)},{element}\n"
        Path("waiting.csv").write_text(rows, encoding="utf-8")
        tables = ["--messages", "theirs.csv", "--subscriptions", "waiting.csv", "--map", "key=Order No"]
        assert run(["correlate", *tables, "--out", engine, "--engine", engine]) == 0
        assert [row["reason"] for row in read(Path(engine, "verdicts"))] == ["waiting_instance"]


@pytest.mark.parametrize("begin", ["\n\n", "\r\n", "\ufeff\r\n\r\n"])
def test_empty_lines_before_the_header_are_no_header(begin: str) -> None:
    lines = f"name,correlation_key,published_at\nPaid,o-1,{at(5)}\nPaid,o-2,{at(6)}\n"
    if "\r" in begin:
        lines = lines.replace("\n", "\r\n")
    Path("day.csv").write_bytes((begin + lines).encode())
    waiting = write(Path("waiting.jsonl"), [subscription("order", "Paid", "o-1", at(0))], "jsonl")
    correlate("out", messages="day.csv", subscriptions=waiting)
    found = {row["correlation_key"]: row["reason"] for row in read(Path("out/verdicts"))}
    assert found == {"o-1": "waiting_instance", "o-2": "ttl_zero"}
    assert read(Path("out/dead_letters")) == []


def test_export_of_windows_with_lines_inside_quotes_is_read_as_it_is() -> None:
    rows = [f'Paid,o-{n},{at(5)},"{text}"' for n, text in enumerate(("one\ntwo", 'say ""hi"", ok', " padded "))]
    lines = ["name,correlation_key,published_at,note", *rows, ""]
    Path("day.csv").write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    waiting = write(Path("waiting.jsonl"), [subscription("order", "Paid", "o-1", at(0))], "jsonl")
    correlate("out", messages="day.csv", subscriptions=waiting)
    found = {row["correlation_key"]: row["note"] for row in read(Path("out/verdicts"))}
    assert found == {"o-0": "one\ntwo", "o-1": 'say "hi", ok', "o-2": " padded "}
    assert read(Path("out/dead_letters")) == []


def test_values_between_semicolons_are_named_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    Path("day.csv").write_text(f"name;published_at\nPaid;{at(5)}\n", encoding="utf-8")
    waiting = write(Path("waiting.jsonl"), [subscription("order", "Paid", "o-1", at(0))], "jsonl")
    line = ["correlate", "--messages", "day.csv", "--subscriptions", str(waiting), "--out", "out", "--engine", ENGINE]
    assert run(line) == 2
    assert "day.csv: its values are separated by ';'; only commas are read" in capsys.readouterr().err
