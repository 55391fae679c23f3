"""conjoin spark correlate: files of messages and of who waits in, folders of verdicts out."""

import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from conjoin.cli.invocation import CommandCall, check_arrow, check_spark, command
from conjoin.cli.options import option, read_answer
from conjoin.cli.progress import progress
from conjoin.cli.reading import is_missing
from conjoin.cli.spark.closing import show_closing
from conjoin.errors import InputError, PolicyError
from conjoin.settings import Settings

if TYPE_CHECKING:
    from conjoin.kernel.policies import Policies
    from conjoin.pipeline.correlate.correlated import FirstPass
    from conjoin.pipeline.correlate.job import TableJob

_POLICY = re.compile(r"(?P<name>.+):(?P<question>[a-z_]+)=(?P<value>.+)", re.DOTALL)

Paths = list[str] | None
_BY_NAME = "table:"
ENGINES = ("auto", "local", "spark")


def _table(name: str, help: str) -> Any:
    return option(f"--{name}", help, "PATH", "Tables")


@command(dict.fromkeys(("format", "profile", "master", "driver_memory", "jars", "partitions"), "Settings"), json="")
def correlate(
    call: CommandCall,
    messages: Annotated[list[str], _table("messages", "What was published.")],
    subscriptions: Annotated[list[str], _table("subscriptions", "Who waited for what, from when until when.")],
    out: Annotated[
        str, option("--out", "Folder for the outputs, one folder each; table:NAME: tables NAME_verdicts, ...", "DIR")
    ],
    starts: Annotated[Paths, _table("starts", "Which message starts which process.")] = None,
    ends: Annotated[Paths, _table("ends", "When message-started instances ended.")] = None,
    locks: Annotated[Paths, _table("locks", "`locks` of the run before.")] = None,
    ids: Annotated[Paths, _table("ids", "`ids` of the run before.")] = None,
    as_of: Annotated[
        str | None, option("--as-of", "Judge at this instant. Default: the latest time in the tables.", "TIME")
    ] = None,
    since: Annotated[str | None, option("--since", "The as_of of the run before.", "TIME")] = None,
    after: Annotated[
        str | None,
        option("--after", "Go on from this run (table:NAME, too): its leftovers, its as_of, its policies.", "DIR"),
    ] = None,
    map: Annotated[
        list[str] | None, option("--map", "Their column for ours, such as key=order_no.", "[TABLE.]OURS=THEIRS")
    ] = None,
    engine: Annotated[
        str,
        option("--engine", "spark, local (in this process, without Spark), or auto: local for small files.", "ENGINE"),
    ] = "auto",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what an earlier run wrote to --out.")] = False,
    no_near: Annotated[bool, typer.Option("--no-near", help="Do not look for near misses on other keys.")] = False,
    partition_by: Annotated[
        list[str] | None,
        option("--partition-by", "Folders by the values of this column, in the outputs that have it.", "COLUMN"),
    ] = None,
    policy: Annotated[
        list[str] | None, option("--policy", "Change a policy; NAME * is every message.", "NAME:QUESTION=ANSWER")
    ] = None,
) -> None:
    """Say for every message which instance took it, or why none did.

    [bold]Tables[/bold] are files or folders of Parquet, JSON lines (.jsonl, .ndjson, .json) or
    CSV with a header; the text ones may end in .gz. Give an option several times to
    unite several paths. They hold, with * for must:

      messages       name*, published_at*, correlation_key, message_id, ttl_ms,
                     variables, tenant_id, business_id, position
      subscriptions  process_id*, name*, opened_at*, correlation_key, closed_at,
                     subscription_id, instance_id, element_id, interrupting,
                     tenant_id, business_id
      starts         process_id*, name*, element_id, from_at, until_at, tenant_id
      ends           process_id*, ended_at*, correlation_key, tenant_id

    Times are timestamps or texts such as 2026-01-31T08:00:00Z (no zone: UTC). Other
    columns of messages travel along. A row that cannot be used is written to
    dead_letters with its reason; none is lost.

    [bold]Examples[/bold]

      conjoin spark correlate --messages messages.parquet --subscriptions waiting.parquet
          --out result

      conjoin spark correlate --messages day.jsonl --subscriptions day.csv
          --out result --format csv
          --policy '*:time_to_live=1h' --policy 'Money collected:dedup=7d'

    The next day continues where this one ended: with its leftovers (buffered, open, locks,
    ids), since its as_of, under its policies:

      conjoin spark correlate --messages day2.jsonl --subscriptions day2.csv
          --after result --out result2
    """
    tables = {"messages": messages, "subscriptions": subscriptions, "starts": starts, "ends": ends}
    inputs = {name: tuple(paths or ()) for name, paths in {**tables, "locks": locks, "ids": ids}.items()}
    settings = call.settings
    policies = with_flags(settings.policies, policy or [])
    if engine not in ENGINES:
        raise InputError([f"--engine: {engine} is not {', '.join(ENGINES)}"])
    (check_spark if engine == "spark" else check_arrow)("conjoin spark correlate")
    from conjoin.pipeline.correlate.correlate import policies_of
    from conjoin.pipeline.correlate.job import TableJob
    from conjoin.pipeline.files.column_names import read_mappings

    if after is not None:
        book, run = policies_of(policies, settings.profile), _run_before(call, after)
        inputs, since = _continued(after, run, inputs, since, book)
    _check(inputs, out, overwrite, settings)
    _check_rules(policies, settings, as_of, since)
    names = read_mappings(map or (), [name for name, paths in inputs.items() if paths])

    how = (settings.format, overwrite, as_of, since, settings.profile, policies, settings.partitions)
    job = TableJob(inputs, out, *how, near=not no_near, names=names, partition_by=tuple(partition_by or ()))
    try:
        if not _done_locally(job, engine, settings):
            check_spark("conjoin spark correlate")
            from conjoin.pipeline.correlate.local.first_pass import look_over_files
            from conjoin.pipeline.session.session import FOR_A_SHORT_JOB

            with ThreadPoolExecutor(1) as beside:
                first = beside.submit(look_over_files, job)
                spark = call.spark("conjoin spark correlate", FOR_A_SHORT_JOB if job.is_short else "")
            run_and_close(spark, job, first.result())
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


def _run_before(call: CommandCall, after: str) -> dict[str, Any]:
    """What the run before tells of itself, in its folder or beside its tables."""
    from conjoin.pipeline.correlate.writing.run_folder import read_run

    if after.startswith(_BY_NAME):
        check_spark("conjoin spark correlate")
        from conjoin.pipeline.correlate.writing.by_spark import read_run_table

        run = read_run_table(call.spark("conjoin spark correlate"), after)
    else:
        run = read_run(after)
    if run is None:
        raise InputError([f"--after: {after} holds no finished run of correlate"])
    return run


def _continued(
    after: str, run: dict[str, Any], inputs: dict[str, tuple[str, ...]], since: str | None, policies: "Policies"
) -> tuple[dict[str, tuple[str, ...]], str]:
    """The tables with the leftovers of the run before, and its instant."""
    from conjoin.pipeline.correlate.writing.run_record import fingerprint

    given = [name for name, there in (("since", since), ("locks", inputs["locks"]), ("ids", inputs["ids"])) if there]
    problems = [f"--{name} is taken from the run before by --after" for name in given]
    if run["policies"] != fingerprint(policies):
        problems.append(f"--after: {after} was made under other policies; give the same --policy and --profile")
    missing = [name for name in ("buffered", "open", "locks", "ids") if name not in run["rows"]]
    problems += [f"--after: {after} was written without its table {name}" for name in missing]
    if problems:
        raise InputError(problems)
    leftovers = {"messages": "buffered", "subscriptions": "open", "locks": "locks", "ids": "ids"}
    beside = f"{after}_" if after.startswith(_BY_NAME) else f"{after.rstrip('/')}/"
    return inputs | {name: (*inputs[name], f"{beside}{left}") for name, left in leftovers.items()}, run["as_of"]


def _done_locally(job: "TableJob", engine: str, settings: Settings) -> bool:
    """Small files are correlated in this process, by the same rules, if that is certain to give the same."""
    from conjoin.pipeline.correlate.job import run_locally
    from conjoin.pipeline.correlate.local.not_local import NotLocal
    from conjoin.pipeline.session.master import will_run_here

    if engine == "spark" or (engine == "auto" and not will_run_here(settings)):
        return False
    try:
        with progress() as step:
            summary = run_locally(job, step, any_size=engine == "local")
    except NotLocal as reason:
        if engine == "local":
            raise InputError([f"--engine local: {reason.why}; --engine spark reads it"]) from None
        return False
    show_closing(Console(), summary, job.out)
    return True


def run_and_close(spark: Any, job: "TableJob", first: "FirstPass | None" = None) -> None:
    """With progress, and at the end the closing table. `first`: what was found in the tables while Spark started."""
    from conjoin.pipeline.correlate.job import run_job

    with progress(spark) as step:
        summary = run_job(spark, job, step, first)
    show_closing(Console(), summary, job.out)


def with_flags(policies: Mapping[str, Mapping[str, Any]], flags: list[str]) -> dict[str, dict[str, Any]]:
    """The policies of the settings with those of the flags over them."""
    merged = {name: dict(answers) for name, answers in policies.items()}
    problems = []
    for flag in flags:
        found = _POLICY.fullmatch(flag)
        if found is None:
            problems.append(f"flag --policy: {flag!r} is not like NAME:QUESTION=ANSWER, such as '*:time_to_live=1h'")
            continue
        merged.setdefault(found["name"], {})[found["question"]] = read_answer(found["question"], found["value"])
    if problems:
        raise PolicyError(problems)
    return merged


def _check(inputs: Mapping[str, tuple[str, ...]], out: str, overwrite: bool, settings: Settings) -> None:
    """What can be seen to be wrong before Spark is started."""
    from conjoin.pipeline.session.master import is_master, will_run_here

    problems, folder, by_name = [], Path(out), out.startswith(_BY_NAME)
    if not is_master(settings.master):
        problems.append(f"--master: {settings.master} is not local, local[N], spark://..., yarn, k8s://... or sc://...")
    if not overwrite and not by_name and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        problems.append(f"--out: {out} is not empty; --overwrite replaces what an earlier run wrote there")
    for table, paths in inputs.items():
        for path in paths:
            if path.startswith(_BY_NAME):
                if by_name and path.startswith(f"{out}_"):
                    problems.append(f"--{table}: {path} may be a table of --out: a run cannot read what it replaces")
            elif not by_name and "://" not in path and Path(path).resolve().is_relative_to(folder.resolve()):
                problems.append(f"--{table}: {path} lies in --out: a run cannot read what it replaces")
            elif will_run_here(settings) and is_missing(path):
                problems.append(f"--{table}: {path}: there is no such file or folder")
    if problems:
        raise InputError(problems)


def _check_rules(
    policies: Mapping[str, Mapping[str, Any]], settings: Settings, as_of: str | None, since: str | None
) -> None:
    """What was said about the tables, before anybody looks at them."""
    from conjoin.pipeline.correlate.correlate import policies_of, read_instant

    policies_of(policies, settings.profile)
    until, begin = read_instant(as_of, "--as-of"), read_instant(since, "--since")
    if until is not None and begin is not None and begin > until:
        raise InputError([f"--since {since} is after --as-of {as_of}: every row would be late or later"])
