"""The command as a test types it: a line in, and the exit code, what was printed and what was complained about out."""

import json
import shlex
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from conjoin.cli.main import run
from conjoin.store import open_store
from conjoin.store import tables as t
from tests.bpmn.snippets import BEGIN, END, PAID, boundary, catch, model, service, timer

ORDER = model(
    BEGIN
    + catch("paid")
    + service("ship")
    + boundary("sold_out", "ship", '<errorEventDefinition errorRef="sold_out_error"/>')
    + service("refund")
    + END,
    "begin>paid paid>ship ship>end sold_out>refund refund>end",
    PAID + '<error id="sold_out_error" errorCode="sold-out"/>\n',
)
REMINDER = model(
    BEGIN
    + f'<intermediateCatchEvent id="an_hour">{timer("timeDuration", "PT1H")}</intermediateCatchEvent>\n'
    + service("remind")
    + END,
    "begin>an_hour an_hour>remind remind>end",
).replace(b'id="order"', b'id="reminder"')
ALARM = model(
    '<startEvent id="begin"><signalEventDefinition signalRef="fire_signal"/></startEvent>\n'
    + service("evacuate")
    + END,
    "begin>evacuate evacuate>end",
    '<signal id="fire_signal" name="fire"/>\n',
).replace(b'id="order"', b'id="alarm"')


class Said(NamedTuple):
    code: int
    out: str
    err: str


class Command:
    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, line: str) -> Said:
        """Whatever comes of it."""
        self._capsys.readouterr()
        code = run(shlex.split(line))
        return Said(code, *self._capsys.readouterr())

    def tells(self, line: str) -> str:
        """What it prints, when all goes well."""
        said = self(line)
        assert (said.code, said.err) == (0, ""), said
        return said.out.rstrip("\n")

    def json(self, line: str) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(self.tells(f"{line} --json"))
        return told

    def refuses(self, line: str) -> str:
        """The complaint of a refusal, which must be one line."""
        return self._complains(line, 1)

    def cannot(self, line: str) -> str:
        """The complaint about input that is not as it should be."""
        return self._complains(line, 2)

    def _complains(self, line: str, code: int) -> str:
        said = self(line)
        assert (said.code, said.out) == (code, ""), said
        assert "Traceback" not in said.err
        return said.err.rstrip("\n").removeprefix("conjoin: ")

    def makes_a_shop(self) -> None:
        for name, content in (("order", ORDER), ("reminder", REMINDER), ("alarm", ALARM)):
            Path(f"{name}.bpmn").write_bytes(content)
        self.tells("init --shards 3")
        self.tells("deploy order.bpmn reminder.bpmn alarm.bpmn")

    def order(self, order_id: str = "o-1") -> str:
        """The key of a new instance that waits for its money."""
        return str(self.json(f"""create order --variables '{{"orderId": "{order_id}"}}'""")["key"])

    def job(self, type_: str) -> str:
        """The key of the only job of a type that is ready; it is taken."""
        (job,) = self.json(f"activate {type_} --max 10")["jobs"]
        return str(job["key"])

    def incident(self) -> int:
        """The key of the only incident."""
        store = open_store("conjoin-data")
        (row,) = store.rows(t.INCIDENT, {}, None, 2)
        store.close()
        return int(row.key)

    def open(self) -> dict[str, int]:
        """How much is open, without what is not."""
        return {name: count for name, count in self.json("status")["open"].items() if count}
