"""Metrics: everything that happens is counted under its name, and states and ages are as they are now."""

from conjoin.runtime.inbox.metrics import Gauges, InboxMeter
from tests.runtime.inbox.bench import Bench, preset
from tests.runtime.inbox.conftest import Make


def values(bench: Bench) -> dict[str, int]:
    """What is not 0; a label behind its name."""
    samples = bench.inbox.metrics()
    assert len({(it.name, *it.labels.values()) for it in samples}) == len(samples)
    return {" ".join((it.name, *it.labels.values())): it.value for it in samples if it.value}


def test_what_a_process_has_done_is_counted(single: Make) -> None:
    bench = single(preset(max_attempts=2, backoff_unit=1, expiration=60_000))
    bench.wait("o-1")
    for key, payload in (("o-1", {}), ("o-2", {}), ("o-3", b"{"), ("o-1", None)):
        bench.send(key, f"m-{key}", payload=payload)
    bench.send("o-1", "m-o-1")
    bench.run()
    bench.run(after_s=1)
    bench.send("o-4", "late")
    bench.clean(after_s=30)
    told = values(bench)
    told.pop("run_ms", None)
    assert told == {
        **{"received": 6, "accepted": 5, "persisted": 4, "duplicate": 1, "dead_lettered": 1, "correlated": 1},
        **{"failed decode_error": 2, "failed target_error": 2, "retried": 2, "parked": 2, "runs": 2},
        **{"messages waiting": 1, "messages done": 1, "messages parked": 2, "oldest_due_ms": 30_000},
    }
    bench.clean(after_s=60)
    assert (values(bench)["expired"], values(bench)["messages expired"]) == (3, 3)


def test_every_name_of_the_specification_is_there_from_the_start() -> None:
    names = {sample.name for sample in InboxMeter().samples(Gauges({}, 0))}
    assert names >= {
        *("received", "accepted", "ignored", "dropped", "persisted", "duplicate", "dead_lettered", "correlated"),
        *("failed", "retried", "parked", "expired", "messages", "oldest_due_ms", "run_ms"),
    }
