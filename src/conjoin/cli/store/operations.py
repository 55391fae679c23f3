"""conjoin store policy and set-aside: what operators change. Each change of a policy is kept, with its time."""

import re
from typing import Annotated

import typer

from conjoin.cli.invocation import ENGINE, LINES, CommandCall, command, on_engine
from conjoin.cli.options import After, Limit, option, read_answer, record_key
from conjoin.cli.store.init import policy_line
from conjoin.errors import InputError

_ANSWER = re.compile(r"(?P<question>[a-z_]+)=(?P<answer>.*)", re.DOTALL)
_COLUMNS = ("key", "kind", "item", "instance_key", "since_at", "attempts", "next_try_at", "reason")
Key = Annotated[int, record_key("As the list shows it.")]


@on_engine(
    "conjoin store policy set '*' time_to_live=1h",
    "conjoin store policy set paid dedup=7d expected=2",
    "conjoin store policy set paid expected=",
)
def set_policy(
    call: CommandCall,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A message name; * is every message.")],
    answers: Annotated[list[str], typer.Argument(metavar="QUESTION=ANSWER...", help="Such as dedup=7d.")],
) -> None:
    """Change policies of a message name; what is not named stays as it was.

    An empty answer removes what was set. Messages that are already there
    keep the policies they came under.
    """
    found = [_ANSWER.fullmatch(text) for text in answers]
    if None in found:
        wrong = [text for text, match in zip(answers, found, strict=True) if match is None]
        raise InputError([f"{text!r} is not like QUESTION=ANSWER, such as dedup=7d" for text in wrong])
    changes = {it["question"]: read_answer(it["question"], it["answer"]) for it in found if it is not None}
    with call.refusals(), call.engine() as engine:
        before = engine.policies()["policies"].get(name, {})
        now = {question: answer for question, answer in {**before, **changes}.items() if answer != ""}
        version = engine.set_policy(name, now)
    call.print({"name": name, "policy": now, "catalog_version": version}, policy_line(name, now))


@on_engine("conjoin store policy list")
def list_policies(call: CommandCall) -> None:
    """List what was set, and when; everything else is answered by the profile of the store."""
    found = call.do(lambda engine: engine.policies())
    now, since = found["policies"], {change["name"]: change["set_at"] for change in found["changes"]}
    lines = [f"profile {found['profile']}{'' if now else ', and nothing was set'}"]
    lines += [f"{policy_line(name, answers)} (since {since[name]})" for name, answers in now.items()]
    call.print(found, "\n".join([*lines, *found["not_in_force"]]))


_KIND = {"kind": Annotated[str | None, option("--kind", "Only mail, timer, job, message or start timers.")]}


@command(ENGINE, "conjoin store set-aside list", json=LINES, filters=_KIND)
def list_set_aside(call: CommandCall, limit: Limit = 50, after: After = None) -> None:
    """List what was set aside: what it is, since when, how often it was retried, and why it fails."""
    call.filters["state"] = "waiting"
    page = call.do(lambda engine: engine.page("set-aside", call.query(engine.now, limit, after)))
    call.print_page(page, _COLUMNS, "nothing is set aside")


@on_engine("conjoin store set-aside retry 2251799813685300")
def retry_set_aside(call: CommandCall, key: Key) -> None:
    """Retry it; if it works now, it is no longer set aside."""
    call.do(lambda engine: engine.calls.retry_set_aside(key))
    call.print({"key": str(key), "retried": True}, f"{key} was carried out")


@on_engine("conjoin store set-aside delete 2251799813685300")
def delete_set_aside(call: CommandCall, key: Key) -> None:
    """Never carry it out. What waits for it keeps waiting: cancel the instance that the list names."""
    call.do(lambda engine: engine.calls.delete_set_aside(key))
    call.print({"key": str(key), "deleted": True}, f"{key} will never be carried out")
