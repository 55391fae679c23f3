"""conjoin store policy: the policies of a store, by message name. Each change is kept, with the time it was made."""

import re
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from conjoin.cli.printing import AsJson, tell
from conjoin.cli.store_option import Data, StoreUrl, opened_broker
from conjoin.errors import InputError
from conjoin.kernel.storable import whole_number
from conjoin.runtime.engine.policies_set import answers_of
from conjoin.times.iso8601 import instant_text

_ANSWER = re.compile(r"(?P<question>[a-z_]+)=(?P<answer>.*)", re.DOTALL)

app = typer.Typer(name="policy", help="Sets and lists the policies of a store, by message name.", no_args_is_help=True)


@app.command("set")
def set_(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A message name; * is every message.")],
    answers: Annotated[list[str], typer.Argument(metavar="QUESTION=ANSWER...", help="Such as dedup=7d.")],
    data: Data = None,
    store: StoreUrl = None,
    as_json: AsJson = False,
) -> None:
    """Change policies of a message name; what is not named stays as it was.

    An empty answer takes back what was set. Messages that are already there
    keep the policies they came under.

    [bold]Examples[/bold]

      conjoin store policy set '*' time_to_live=1h

      conjoin store policy set paid dedup=7d expected=2

      conjoin store policy set paid expected=
    """
    changes = _read(answers)
    with opened_broker(data, store) as broker:
        before = broker.catalog.in_force().get(name, {})
        now = {question: answer for question, answer in {**before, **changes}.items() if answer != ""}
        broker.catalog.set_policy(name, now, broker.now)
        version = broker.catalog.view().version
    tell({"name": name, "policy": now, "catalog_version": version}, policy_line(name, now), as_json)


@app.command("list")
def list_(data: Data = None, store: StoreUrl = None, as_json: AsJson = False) -> None:
    """List what was set, and when; everything else is answered by the profile of the store.

    [bold]Example[/bold]

      conjoin store policy list
    """
    with opened_broker(data, store) as broker:
        profile = broker.store.facts.profile
        rows = broker.catalog.policies_set()
        now = broker.catalog.in_force()
        troubles = broker.catalog.troubles()
    changes = [
        {
            "catalog_version": row.catalog_version,
            "name": row.name,
            "policy": answers_of(row),
            "set_at": instant_text(row.set_at),
        }
        for row in rows
    ]
    since = {change["name"]: change["set_at"] for change in changes}
    lines = [f"profile {profile}{'' if now else ', and nothing was set'}"]
    lines += [f"{policy_line(name, answers)} (since {since[name]})" for name, answers in now.items()]
    told = {"profile": profile, "policies": now, "changes": changes, "not_in_force": troubles}
    tell(told, "\n".join([*lines, *troubles]), as_json)


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
