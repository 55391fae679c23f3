"""The texts of `conjoin lint`, one for each defect: `python -m tests.bpmn.lint_texts` writes them anew, to be read."""

from pathlib import Path

import typer
from typer.testing import CliRunner

from conjoin.cli.model.lint import lint

DEFECTS = Path(__file__).parent / "defects"
TEXTS = Path(__file__).parent / "golden_text"

PROFILE_OF = {"left_out": "fleans", "keyless_messages": "fleans"}
"""Of models that only another dialect takes; all others are Zeebe's."""

app = typer.Typer()
app.command()(lint)


def linted(defect: str) -> str:
    """What lint prints about a defective model, without the folder that it is in."""
    profile = PROFILE_OF.get(defect, "zeebe")
    printed = CliRunner().invoke(app, ["--profile", profile, str(DEFECTS / f"{defect}.bpmn")]).output
    return printed.replace(f"{DEFECTS}/", "")


def defects() -> list[str]:
    return sorted(path.stem for path in DEFECTS.glob("*.bpmn"))


def write() -> None:
    for defect in defects():
        (TEXTS / f"{defect}.txt").write_text(linted(defect), encoding="utf-8")


if __name__ == "__main__":
    write()
