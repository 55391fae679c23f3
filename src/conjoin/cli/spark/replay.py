"""conjoin spark replay: what would have become of the recorded messages under other policies."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conjoin.cli.invocation import SPARK, STORE, CommandCall, check_spark, command
from conjoin.cli.options import option
from conjoin.cli.progress import progress
from conjoin.errors import InputError
from conjoin.kernel.policies import PROFILES
from conjoin.runtime.opening import now_us, open_broker
from conjoin.times.durations import read_duration_ms

if TYPE_CHECKING:
    from conjoin.pipeline.what_if import Question
    from conjoin.pipeline.what_if.on_spark import WhatIfSummary

_MOST_SHOWN = 20


@command(
    STORE | {name: SPARK[name] for name in ("master", "driver_memory")},
    "conjoin spark replay --since 24h --policy ttl=10m",
    "conjoin spark replay --since 2026-01-31T08:00:00Z --policy paid:dedup=1h --out what-if",
)
def replay(
    call: CommandCall,
    since: Annotated[str, option("--since", "Such as 2026-01-31T08:00:00Z, or 24h for that long ago.", "TIME")],
    policy: Annotated[
        list[str] | None, option("--policy", "Such as ttl=10m or paid:dedup=1h.", "[NAME:]QUESTION=ANSWER")
    ] = None,
    profile: Annotated[str | None, option("--profile", "All policies of a profile.", "PROFILE")] = None,
    until: Annotated[str | None, option("--until", "Default: now.", "TIME")] = None,
    one_key: Annotated[
        bool, typer.Option("--one-key", help="Believe that an instance waits under one correlation key only.")
    ] = False,
    out: Annotated[Path | None, option("--out", "Write all messages here, as Parquet.", "DIR")] = None,
) -> None:
    """Run what was recorded again under other policies, and show what would have changed.

    Messages published since then are accepted under the changed policies; everything before stays as it was.
    [bold]ttl[/bold] is the time to live of every message, whatever it was published with;
    [bold]time_to_live[/bold] is the policy, for messages that were published with none. What depends on an instance
    that would have gone another way is [bold]unknown[/bold], and not guessed. Nothing is written to the store.
    """
    check_spark("conjoin spark replay")
    from conjoin.pipeline.what_if.on_spark import answered, summarize

    address = str(call.address)
    question = _question(address, (since, until), policy or [], profile, one_key)
    if out is not None and out.exists():
        raise InputError([f"--out: {out} is there already"])
    spark = call.spark("conjoin spark replay")
    with (
        progress(spark) as step,
        answered(spark, address, question, step) as messages,
    ):
        step("counting")
        summary = summarize(messages, _MOST_SHOWN)
        if out is not None:
            step(f"writing {out}")
            messages.write.parquet(out.absolute().as_uri())
    counts = {change: summary.count(change) for change in ("same", "changed", "unknown")}
    turns = [turn._asdict() for turn in summary.turns]
    call.print({**counts, "turns": turns, "changes": list(summary.changes)}, _in_words(summary, counts, out))


def _question(
    address: str, span: tuple[str, str | None], policy: list[str], profile: str | None, one_key: bool
) -> "Question":
    from conjoin.pipeline.what_if import Question, read_changes

    problems = []
    if not policy and profile is None:
        problems.append("nothing would change: give a --policy or a --profile")
    if profile is not None and profile not in PROFILES:
        problems.append(f"--profile: {profile!r} is none of {', '.join(PROFILES)}")
    now = _latest(address)
    since, until = _instant(span[0], "--since", now), now if span[1] is None else _instant(span[1], "--until", now)
    if since > until:
        problems.append("--since is after --until")
    if problems:
        raise InputError(problems)
    return Question(since, until, read_changes(policy), profile, one_key)


def _latest(address: str) -> int:
    """Now, or when the store was last written, if its clock is ahead of ours."""
    latest = now_us()
    with closing(open_broker(address)) as broker:
        for shard in range(broker.shard_count):
            with broker.post.look(shard) as snapshot:
                latest = max(latest, snapshot.head.time)
    return latest


def _instant(text: str, option: str, now: int) -> int:
    from conjoin.pipeline.correlate.correlate import read_instant

    ago_ms = read_duration_ms(text)
    if ago_ms is not None:
        return now - ago_ms * 1_000
    found = read_instant(text, option)
    assert found is not None, "only nothing is read as nothing"
    return found


def _in_words(summary: "WhatIfSummary", counts: dict[str, int], out: Path | None) -> str:
    lines = [f"{sum(counts.values()):,} messages: " + ", ".join(f"{count:,} {it}" for it, count in counts.items())]
    if summary.turns:
        lines += ["", f"{'messages':>10}  {'was':<36} would be"]
    for turn in summary.turns:
        would = "the same" if turn.change == "same" else turn.would
        lines.append(f"{turn.messages:>10,}  {turn.was:<36} {would}")
    for it in summary.changes:
        lines += ["", f"{it['published_at']} {it['name']} {it['correlation_key']} (message {it['message_key']})"]
        lines += [f"  was       {it['was_sentence']}", f"  would be  {it['would_sentence']}"]
    left = counts["changed"] + counts["unknown"] - len(summary.changes)
    if left > 0:
        lines += ["", f"and {left:,} more" + ("" if out else ": --out writes all of them")]
    return "\n".join([*lines, *([f"wrote {out}"] if out else [])])
