"""What an operation on some messages would come to is what it comes to, and nothing is changed by asking."""

from conjoin.kernel.inbox.operations import Delete, Release
from tests.runtime.inbox.bench import preset
from tests.runtime.inbox.conftest import Make


def test_some_messages_are_rehearsed_without_changing_them(sharded: Make) -> None:
    bench = sharded(preset(max_attempts=1))
    for number in range(4):
        bench.send(f"o-{number}", f"m-{number}")
    bench.run()
    bench.send("o-9", "m-9")
    bench.operate("m-0", Delete())
    chosen = [bench.row(id_).key for id_ in ("m-9", "m-0", "m-1", "m-2")]
    before = bench.rows()
    would = bench.inbox.rehearse_on([*chosen, 7], Release())
    assert would == (2, {"ended": 1, "not_parked": 1, "not_found": 1})
    assert bench.rows() == before
    answers = bench.inbox.operate_on([*chosen, 7], Release(), "eve")
    assert [getattr(answer, "code", "") for answer in answers] == ["not_parked", "ended", "", "", "not_found"]
    assert bench.row("m-3").state == "parked"
