"""conjoin tokens: who may call a server. A token is printed once, when it is made; only its hash is kept."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from conjoin.cli.invocation import CommandCall, command
from conjoin.cli.options import option
from conjoin.errors import InputError
from conjoin.gateway.security.authentication.callers import (
    KnownCaller,
    id_of_token,
    new_token,
    password_hash,
    read_callers,
    token_hash,
    write_callers,
)
from conjoin.settings import load
from conjoin.times.iso8601 import instant_text

DEFAULT_FILE = "callers.json"
_SHORTEST = 12

File = Annotated[
    Path | None,
    option("--file", "File of the callers. Default: `callers` of [security], or callers.json.", "FILE"),
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="Who calls: a service, or an operator.")]


@command(
    {},
    "conjoin tokens add billing --role publisher",
    "conjoin tokens add alice --role operator --password",
)
def add(
    call: CommandCall,
    name: Name,
    role: Annotated[list[str], option("--role", "A role of [security.roles], or admin.", "ROLE")],
    password: Annotated[bool, typer.Option("--password", help="Ask for a password instead of making a token.")] = False,
    file: File = None,
) -> None:
    """Let somebody call, with a token that is printed only now or with a password.

    A running server reads the file again within a moment. A caller that is in the file already gets a new token; the
    old one stops working.
    """
    path = _path(file)
    callers = read_callers(path)
    if not name or ":" in name:
        raise InputError([f"{name!r}: a name is not empty and has no colon"])
    known = callers[name] = KnownCaller(role, made_at=instant_text(time.time_ns() // 1_000))
    made: dict[str, Any] = {"name": name, "roles": role, "file": str(path)}
    if password:
        known.password, means = password_hash(_prompted()), "a password"
    else:
        made["token"] = token = new_token()
        known.token = f"{id_of_token(token)}:{token_hash(token)}"
        means = f"this token, which is not shown again:\n{token}"
    write_callers(path, callers)
    call.print(made, f"{name} ({', '.join(role)}) has {means}")


@command({}, "conjoin tokens list")
def list_(call: CommandCall, file: File = None) -> None:
    """List who may call, and with what."""
    callers: list[dict[str, Any]] = [
        {"name": name, "with": "password" if it.password else "token", "roles": it.roles, "made_at": it.made_at}
        for name, it in read_callers(_path(file)).items()
    ]
    lines = [f"{it['name']}: {', '.join(it['roles'])} ({it['with']}, {it['made_at']})" for it in callers]
    call.print({"callers": callers}, "\n".join(lines) or "nobody")


@command({}, "conjoin tokens remove billing")
def remove(call: CommandCall, name: Name, file: File = None) -> None:
    """Revoke the token or password of a caller; a running server refuses it within a moment."""
    path = _path(file)
    callers = read_callers(path)
    if callers.pop(name, None) is None:
        raise InputError([f"{path} has no caller called {name!r}"])
    write_callers(path, callers)
    call.print({"name": name}, f"{name} may not call any more")


def _path(given: Path | None) -> Path:
    return given or Path(str(load().security.get("callers", DEFAULT_FILE)))


def _prompted() -> str:
    password: str = typer.prompt("Password", hide_input=True, confirmation_prompt=True)
    if len(password) < _SHORTEST:
        raise InputError([f"a password has at least {_SHORTEST} characters"])
    return password
