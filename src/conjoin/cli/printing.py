"""What commands print: a line or two of text, or one JSON object. A refusal ends with exit code 1.

In JSON the keys of records are texts, as zbctl prints them: they outgrow the numbers that jq and JavaScript keep exact.
"""

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

import typer

from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.codec.json_text import json_text

REFUSED = 1

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]

Answer = TypeVar("Answer")


def tell(told: Mapping[str, Any], text: str, as_json: bool) -> None:
    """As JSON, or as text."""
    typer.echo(json_text(told) if as_json else text)


def accepted(answer: Answer | Refusal, as_json: bool) -> Answer:
    """The answer; a refusal is printed and ends the command."""
    if not isinstance(answer, Refusal):
        return answer
    if as_json:
        typer.echo(json_text({"refused": answer.code, "text": answer.text}))
    else:
        complain(f"{answer.code}: {answer.text}")
    raise typer.Exit(REFUSED)


def complain(text: str) -> None:
    for line in text.splitlines():
        typer.echo(f"conjoin: {line}", err=True)
