"""conjoin model lint: what is wrong with BPMN files, and what will surprise you later, before they are deployed."""

import json
from collections import Counter
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from conjoin.bpmn import Findings, Problem, judge
from conjoin.cli.reading import read_files
from conjoin.errors import InputError
from conjoin.kernel.policies import PROFILES

EXAMPLES = """
Say what is wrong with BPMN files, and what will surprise you later.

An [bold]error[/bold] keeps a model from being deployed. A [bold]warning[/bold] does not: the model
runs, but probably not as intended. The exit code is 1 if there is any error.

[bold]Examples[/bold]

  conjoin model lint order.bpmn invoice.bpmn

  conjoin model lint --format json models/*.bpmn
"""


class LintFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


def lint(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="BPMN files.", show_default=False)],
    format: Annotated[LintFormat, typer.Option("--format", help="Text, or JSON for programs.")] = LintFormat.TEXT,
    profile: Annotated[
        str, typer.Option("--profile", metavar="zeebe|zeebe-0.2x|correlate|fleans", help="Which engine's rules apply.")
    ] = "zeebe",
) -> None:
    if profile not in PROFILES:
        raise InputError([f"--profile: {profile!r} is none of {', '.join(PROFILES)}"])
    findings = {file: judge(content, file, profile) for file, content in read_files(files)}
    typer.echo(_as_json(findings) if format is LintFormat.JSON else _as_text(findings))
    if any(found.problems for found in findings.values()):
        raise typer.Exit(1)


lint.__doc__ = EXAMPLES


def _as_text(findings: dict[str, Findings]) -> str:
    lines = [line for found in findings.values() for line in _lines(found)]
    return "\n".join([*lines, _summary(findings)])


def _lines(found: Findings) -> list[str]:
    said = [(problem, "error") for problem in found.problems] + [(problem, "warning") for problem in found.warnings]
    said.sort(key=lambda pair: pair[0].line)
    return [line for problem, severity in said for line in (_first_line(problem, severity), f"    {problem.advice}")]


def _first_line(problem: Problem, severity: str) -> str:
    element = f"'{problem.element}': " if problem.element else ""
    return f"{problem.file}:{problem.line}: {severity}: {element}{problem.text} [{problem.rule}]"


def _summary(findings: dict[str, Findings]) -> str:
    errors = sum(len(found.problems) for found in findings.values())
    warnings = sum(len(found.warnings) for found in findings.values())
    return f"{_counted(len(findings), 'file')}: {_counted(errors, 'error')}, {_counted(warnings, 'warning')}"


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
