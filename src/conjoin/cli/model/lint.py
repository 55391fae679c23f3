"""conjoin model lint: what is wrong with BPMN files, and what will surprise you later, before they are deployed."""

import json
from collections import Counter
from dataclasses import asdict
from enum import StrEnum
from typing import Annotated

import typer

from conjoin.bpmn import Findings, judge
from conjoin.cli.options import Models, option
from conjoin.cli.reading import read_files
from conjoin.errors import InputError
from conjoin.kernel.policies import PROFILES


class LintFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


def lint(
    files: Models,
    format: Annotated[LintFormat, typer.Option("--format", help="Text, or JSON for programs.")] = LintFormat.TEXT,
    profile: Annotated[
        str, option("--profile", "Which engine's rules apply.", "|".join(PROFILES), show_default=True)
    ] = "zeebe",
) -> None:
    """Say what is wrong with BPMN files, and what will surprise you later.

    An [bold]error[/bold] keeps a model from being deployed. A [bold]warning[/bold] does not: the model
    runs, but probably not as intended. The exit code is 1 if there is any error.

    [bold]Examples[/bold]

      conjoin model lint order.bpmn invoice.bpmn

      conjoin model lint --format json models/*.bpmn
    """
    if profile not in PROFILES:
        raise InputError([f"--profile: {profile!r} is none of {', '.join(PROFILES)}"])
    findings = {file: judge(content, file, profile) for file, content in read_files(files)}
    typer.echo(_as_json(findings) if format is LintFormat.JSON else _as_text(findings))
    if any(found.problems for found in findings.values()):
        raise typer.Exit(1)


def _as_text(findings: dict[str, Findings]) -> str:
    lines = []
    for found in findings.values():
        judged = [(it, "error") for it in found.problems] + [(it, "warning") for it in found.warnings]
        for it, severity in sorted(judged, key=lambda pair: pair[0].line):
            element = f"'{it.element}': " if it.element else ""
            lines += [f"{it.file}:{it.line}: {severity}: {element}{it.text} [{it.rule}]", f"    {it.advice}"]
    errors = sum(len(found.problems) for found in findings.values())
    warnings = sum(len(found.warnings) for found in findings.values())
    counts = (_counted(len(findings), "file"), _counted(errors, "error"), _counted(warnings, "warning"))
    return "\n".join([*lines, f"{counts[0]}: {counts[1]}, {counts[2]}"])


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number or 'no'} {noun}s"


def _as_json(findings: dict[str, Findings]) -> str:
    entries = [
        {"severity": severity, **asdict(problem)}
        for found in findings.values()
        for severity, problems in (("error", found.problems), ("warning", found.warnings))
        for problem in problems
    ]
    counts = Counter(entry["severity"] for entry in entries)
    summary = {"files": len(findings), "errors": counts["error"], "warnings": counts["warning"]}
    return json.dumps({**summary, "findings": entries}, indent=2, ensure_ascii=False)
