"""The closing table tells what the summary holds, within a screen."""

from rich.console import Console

from conjoin.cli.spark.closing import MOST_EXAMPLES, counts_of, show_closing
from conjoin.pipeline.correlate.job import TableSummary, VerdictTally

MISS = {"near_misses": [{"kind": "other_name", "name": "paid", "differs": "case or blanks only", "process": "order"}]}


def summary(**changes: object) -> TableSummary:
    given: dict[str, object] = {
        "tallies": [
            VerdictTally("correlated", "waiting_instance", 7, "Paid", "o-1", {"process": "order", "instance": "i-1"}),
            VerdictTally("discarded", "ttl_zero", 1, "Paid", "o-2", {"near_misses": []}),
            VerdictTally("discarded", "ttl_zero", 2, "Paid", "[o-3]", MISS),
        ],
        "dead_letters": {("messages", "unreadable"): 1, ("subscriptions", "missing_time"): 4},
        "later": {"messages": 3},
        "rows_in": {"messages": 14, "subscriptions": 6},
        "rows_out": {"verdicts": 10, "correlations": 7, "dead_letters": 5},
        "seconds": 2.0,
        "as_of": "2026-01-31T08:00:00Z",
        "notes": ["columns of messages that travel along into .verdicts: colour"],
    }
    return TableSummary(**(given | changes))  # type: ignore[arg-type]


def shown(it: TableSummary) -> str:
    console = Console(width=110, record=True, force_terminal=False, color_system=None)
    with console.capture() as captured:
        show_closing(console, it, "result")
    return captured.get()


def test_closing_tells_counts_balance_speed_and_place() -> None:
    told = shown(summary())
    for line in (
        "note: columns of messages that travel along",
        "14 messages in = 10 verdicts + 1 dead letters + 3 later than as_of",
        "dead letters: messages unreadable 1, subscriptions missing_time 4",
        "20 events (messages + subscriptions) in 2.0 s, all outputs written: 10 events/s",
        "result: verdicts 10 · correlations 7 · dead_letters 5",
        "As of 2026-01-31T08:00:00Z",
    ):
        assert line in told
    assert "70.0%" in told


def test_closing_explains_with_the_near_miss_and_leaves_out_what_explains_nothing() -> None:
    told = " ".join(shown(summary()).split())
    assert "nobody waited for 'Paid' with key '[o-3]'" in told
    assert "the name differs in case or blanks only" in told
    assert "'o-2'" not in told


def test_closing_without_any_message_is_no_accident() -> None:
    nothing = {"messages": 0, "subscriptions": 0}
    told = shown(
        summary(
            tallies=[], dead_letters={}, later={}, rows_in=nothing, rows_out={"verdicts": 0}, seconds=0.0, as_of=None
        )
    )
    assert "0 messages in = 0 verdicts + 0 dead letters" in told
    assert "For example" not in told


def test_counts_come_in_the_order_of_the_reasons() -> None:
    assert list(counts_of(summary().tallies).items()) == [
        (("correlated", "waiting_instance"), 7),
        (("discarded", "ttl_zero"), 3),
    ]


def test_examples_are_few() -> None:
    many = [VerdictTally("discarded", "ttl_zero", 1, "Paid", f"o-{i}", MISS) for i in range(50)]
    assert shown(summary(tallies=many)).count("Discarded: ") == MOST_EXAMPLES
