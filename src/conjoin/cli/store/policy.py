"""conjoin store policy: the policies of a store, by message name. Each change is kept, with the time it was made."""

import re
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from conjoin.cli.engine.where import Where, on_engine
from conjoin.cli.printing import AsJson, accepted, tell
from conjoin.errors import InputError
from conjoin.kernel.storable import whole_number

_ANSWER = re.compile(r"(?P<question>[a-z_]+)=(?P<answer>.*)", re.DOTALL)

app = typer.Typer(name="policy", help="Set and list the policies of a store, by message name.", no_args_is_help=True)


@app.command("set")
@on_engine
def set_(
    where: Where,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A message name; * is every message.")],
    answers: Annotated[list[str], typer.Argument(metavar="QUESTION=ANSWER...", help="Such as dedup=7d.")],
    as_json: AsJson = False,
) -> None:
    """Change policies of a message name; what is not named stays as it was.

    An empty answer removes what was set. Messages that are already there
    keep the policies they came under.

    [bold]Examples[/bold]

      conjoin store policy set '*' time_to_live=1h

      conjoin store policy set paid dedup=7d expected=2

      conjoin store policy set paid expected=
    """
    changes = _read(answers)
    with where.engine() as engine:
        before = accepted(engine.policies(), as_json)["policies"].get(name, {})
        now = {question: answer for question, answer in {**before, **changes}.items() if answer != ""}
        version = accepted(engine.set_policy(name, now), as_json)
    tell({"name": name, "policy": now, "catalog_version": version}, policy_line(name, now), as_json)


@app.command("list")
@on_engine
def list_(where: Where, as_json: AsJson = False) -> None:
    """List what was set, and when; everything else is answered by the profile of the store.

    [bold]Example[/bold]

      conjoin store policy list
    """
    with where.engine() as engine:
        told = accepted(engine.policies(), as_json)
    now, since = told["policies"], {change["name"]: change["set_at"] for change in told["changes"]}
    lines = [f"profile {told['profile']}{'' if now else ', and nothing was set'}"]
    lines += [f"{policy_line(name, answers)} (since {since[name]})" for name, answers in now.items()]
    tell(told, "\n".join([*lines, *told["not_in_force"]]), as_json)


def _read(answers: list[str]) -> dict[str, Any]:
    read: dict[str, Any] = {}
    problems = []
    for text in answers:
        found = _ANSWER.fullmatch(text)
        if found is None:
            problems.append(f"{text!r} is not like QUESTION=ANSWER, such as dedup=7d")
            continue
        whole = whole_number(found["answer"]) if found["question"] == "expected" else None
        read[found["question"]] = found["answer"] if whole is None else whole
    if problems:
        raise InputError(problems)
    return read


def policy_line(name: str, answers: Mapping[str, Any]) -> str:
    listed = ", ".join(f"{question}={answer}" for question, answer in answers.items())
    return f"policy {name}: {listed or 'as the profile says'}"
