"""The closing table: what became of the messages, why, with an example of each; how fast, and where it lies."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from conjoin.cli.invocation import CommandCall
from conjoin.cli.printing import JsonObject
from conjoin.kernel.verdicts.sentences import sentence
from conjoin.kernel.verdicts.verdicts import REASONS

if TYPE_CHECKING:
    from conjoin.pipeline.correlate.job import TableSummary, VerdictTally

MOST_EXAMPLES = 7
_BAR = 12
WIDE = 100

_COLOUR = {
    "correlated": "green",
    "buffered": "cyan",
    "expired": "yellow",
    "discarded": "yellow",
    "refused": "magenta",
    "short": "yellow",
}
IN_WORDS = {
    ("correlated", "waiting_instance"): "an instance was already waiting for it",
    ("correlated", "waiting_instance_later"): "it came early and was taken later",
    ("correlated", "started_instance"): "it started an instance",
    ("correlated", "started_after_lock"): "it started the next instance",
    ("correlated", "given_back_and_taken"): "the first gave it back, and another took it",
    ("correlated", "handed_over"): "another system has taken it",
    ("buffered", "nobody_waits"): "nobody waits for it yet",
    ("buffered", "locked"): "it waits behind a running instance",
    ("buffered", "taken_by_process"): "its process has it, and another instance waits",
    ("buffered", "given_back"): "its receiver gave it back",
    ("buffered", "busy"): "who waits for it is taking another message",
    ("buffered", "handed_over"): "it is kept where it was handed over",
    ("expired", "nobody_waited"): "its time ran out and nobody had come",
    ("expired", "was_locked"): "its time ran out behind an instance",
    ("expired", "never_offered"): "the process it could start was deployed later",
    ("discarded", "ttl_zero"): "nobody waited, and it may not be kept",
    ("discarded", "policy"): "nobody waited, and the policy says discard",
    ("discarded", "deleted"): "somebody deleted it from the inbox",
    ("refused", "duplicate_id"): "its id is still remembered",
    ("refused", "not_found"): "nobody waited, and the policy says reject",
    ("refused", "ambiguous"): "more than one could take it",
    ("refused", "locked"): "an instance with its key still runs",
    ("refused", "invalid"): "it cannot be used as it is",
    ("refused", "forbidden"): "its sender may not publish it",
    ("refused", "wrong_tenant"): "its sender is not of its tenant",
    ("short", "fewer_than_expected"): "fewer took it than were expected",
}
# The plain successes explain themselves; what an operator asks about comes first.
_TELLING = (
    ("discarded", "ttl_zero"),
    ("expired", "nobody_waited"),
    ("refused", "duplicate_id"),
    ("correlated", "waiting_instance_later"),
    ("correlated", "started_after_lock"),
    ("buffered", "nobody_waits"),
    ("buffered", "locked"),
    ("expired", "was_locked"),
)


def show_closing(console: Console, summary: "TableSummary", out: str) -> None:
    """All of it, in about one screen."""
    for note in summary.notes:
        console.print(f"note: {escape(note)}", style="dim")
    console.print(verdict_table(counts_of(summary.tallies), console.width >= WIDE))
    console.print(_balance(summary), highlight=False)
    if summary.dead_letters:
        listed = (f"{table} {reason} {count:,}" for (table, reason), count in sorted(summary.dead_letters.items()))
        console.print(f"[red]dead letters[/]: {', '.join(listed)}", highlight=False)
    for line in _near(summary.near):
        console.print(line, highlight=False)
    examples = list(_examples(summary.tallies))
    if examples:
        console.print("\n[bold]For example[/bold]")
    for example in examples:
        console.print(Padding(example, (0, 0, 0, 2)), highlight=False)
    console.print(f"\n{_throughput(summary)}", highlight=False)
    taken = {"buffered": f" ({summary.still_offered:,} taken once)"} if summary.still_offered else {}
    written = " · ".join(f"{name} {count:,}{taken.get(name, '')}" for name, count in summary.rows_out.items())
    console.print(f"[bold]{escape(out)}[/]: {written}", highlight=False, soft_wrap=not console.is_terminal)
    if summary.as_of:
        console.print(f"As of {summary.as_of}: a next run goes on with --after {out}", style="dim", highlight=False)


def verdict_table(counts: Mapping[tuple[str, str], int], with_bars: bool) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title="What became of the messages", title_justify="left", pad_edge=False)
    for heading in ("verdict", "reason"):
        table.add_column(heading, no_wrap=True)
    for heading in ("messages", "share"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("in words")
    total = sum(counts.values())
    for (verdict, reason), count in counts.items():
        colour = _COLOUR.get(verdict, "white")
        bar = f"[{colour}]{'█' * max(1, round(_BAR * count / total))}[/]" if with_bars else ""
        words = IN_WORDS.get((verdict, reason), "")
        table.add_row(f"[{colour}]{verdict}[/]", reason, f"{count:,}", f"{100 * count / total:.1f}%", bar, words)
    return table


def print_verdicts(call: CommandCall, found: Counter[tuple[str, str]], figures: JsonObject, line: str) -> None:
    """How many got which verdict: a table with a last line, or one JSON object with these figures."""
    known = [(verdict, reason) for verdict, reasons in REASONS.items() for reason in reasons]
    counts = {what: found[what] for what in (*known, *sorted(found)) if found[what]}
    if call.as_json:
        verdicts = [{"verdict": verdict, "reason": reason, "count": n} for (verdict, reason), n in counts.items()]
        call.print({**figures, "verdicts": verdicts}, "")
        return
    console = Console()
    if counts:
        console.print(verdict_table(counts, console.width >= WIDE))
    console.print(line, highlight=False)


def counts_of(tallies: "list[VerdictTally]") -> dict[tuple[str, str], int]:
    """Messages by verdict and reason, in the order of the list of reasons."""
    counts = {(verdict, reason): 0 for verdict, reasons in REASONS.items() for reason in reasons}
    for tally in tallies:
        counts[tally.verdict, tally.reason] += tally.count
    return {what: count for what, count in counts.items() if count}


def _balance(summary: "TableSummary") -> str:
    """Nothing is lost: every message that came in is counted."""
    dead = sum(count for (table, _), count in summary.dead_letters.items() if table == "messages")
    parts = f"{summary.rows_out['verdicts']:,} verdicts + {dead:,} dead letters"
    later = summary.later.get("messages", 0)
    parts += f" + {later:,} later than as_of" if later else ""
    total, kept = summary.rows_in.get("messages", 0), summary.kept.get("messages", 0)
    whose = f" ({total - kept:,} new, {kept:,} carried over)" if kept else ""
    return f"{total:,} messages in{whose} = {parts}"


_DIFFER = {"number": "the way a number is written only", "prefix": "a prefix or leading zeros only"}


def _near(counts: Mapping[str, int]) -> Iterator[str]:
    """Slips in keys, the most frequent first."""
    for differs, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
        messages = "message differs" if count == 1 else "messages differ"
        yield f"[yellow]{count:,}[/] {messages} from a waiting key in {_DIFFER.get(differs, differs)}: see near_misses"


def _examples(tallies: "list[VerdictTally]") -> Iterator[str]:
    """One for each telling reason, then further ones whose nearest miss is of another kind."""
    by_reason: dict[tuple[str, str], list[VerdictTally]] = {}
    for tally in tallies:
        by_reason.setdefault((tally.verdict, tally.reason), []).append(tally)
    found = [
        same for what in _TELLING for same in by_reason.get(what, []) if _explains(same) or len(by_reason[what]) == 1
    ]
    for tally in found[:MOST_EXAMPLES]:
        text = sentence(tally.verdict, tally.reason, tally.told, tally.name, tally.key)
        verdict, _, rest = text.partition(":")
        yield f"[{_COLOUR.get(tally.verdict, 'white')}]{verdict}[/]:{escape(rest)}"


def _explains(tally: "VerdictTally") -> bool:
    return bool(tally.told.get("near_misses") or tally.told.get("next_subscription"))


def _throughput(summary: "TableSummary") -> str:
    messages, subscriptions = (summary.rows_in.get(name, 0) for name in ("messages", "subscriptions"))
    events = messages + subscriptions
    here = " without Spark" if summary.engine == "local" else ""
    rate = f"{events / summary.seconds:,.0f} events/s" if summary.seconds > 0 else "at once"
    counted = f"{events:,} events (messages + subscriptions) in {summary.seconds:.1f} s{here}"
    shared = f"; {summary.shared:.0%} of the rows shared an answer" if summary.shared else ""
    return f"{counted}, all outputs written: [bold]{rate}[/]{shared}"
