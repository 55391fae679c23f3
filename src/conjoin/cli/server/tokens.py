"""conjoin tokens: who may call a server. A token is printed once, when it is made; only its hash is kept."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from conjoin.cli.printing import AsJson, tell
from conjoin.errors import InputError
from conjoin.gateway.security.authentication.callers import KnownCaller, read_callers, write_callers
from conjoin.gateway.security.authentication.hashes import id_of_token, new_token, password_hash, token_hash
from conjoin.settings import load
from conjoin.times.iso8601 import instant_text

DEFAULT_FILE = "callers.json"
_SHORTEST = 12

File = Annotated[
    Path | None,
    typer.Option(
        "--file", metavar="FILE", help="File of the callers. Default: `callers` of [security], or callers.json."
    ),
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="Who calls: a service, or an operator.")]


def add(
    name: Name,
    role: Annotated[list[str], typer.Option("--role", metavar="ROLE", help="A role of [security.roles], or admin.")],
    password: Annotated[bool, typer.Option("--password", help="Ask for a password instead of making a token.")] = False,
    file: File = None,
    as_json: AsJson = False,
) -> None:
    """Let somebody call, with a token that is printed only now or with a password.

    A running server reads the file again within a moment. A caller that is in the file already gets a new token; the
    old one stops working.

    [bold]Examples[/bold]

      conjoin tokens add billing --role publisher

      conjoin tokens add alice --role operator --password
    """
    path = _path(file)
    callers = read_callers(path)
    if not name or ":" in name:
        raise InputError([f"{name!r}: a name is not empty and has no colon"])
    token = None if password else new_token()
    known = callers[name] = KnownCaller(role, made_at=instant_text(time.time_ns() // 1_000))
    if token is None:
        known.password = password_hash(_asked_for())
    else:
        known.token = f"{id_of_token(token)}:{token_hash(token)}"
    write_callers(path, callers)
    told: dict[str, Any] = {"name": name, "roles": role, "file": str(path)}
    what = "a password" if token is None else f"this token, which is not shown again:\n{token}"
    tell(told | ({"token": token} if token else {}), f"{name} ({', '.join(role)}) has {what}", as_json)


def list_(file: File = None, as_json: AsJson = False) -> None:
    """List who may call, and with what.

    [bold]Example[/bold]

      conjoin tokens list
    """
    callers = read_callers(_path(file))
    told = [
        {"name": name, "with": _means(it), "roles": it.roles, "made_at": it.made_at} for name, it in callers.items()
    ]
    lines = [f"{name}: {', '.join(it.roles)} ({_means(it)}, {it.made_at})" for name, it in callers.items()]
    tell({"callers": told}, "\n".join(lines) or "nobody", as_json)


def remove(name: Name, file: File = None, as_json: AsJson = False) -> None:
    """Revoke the token or password of a caller; a running server refuses it within a moment.

    [bold]Example[/bold]

      conjoin tokens remove billing
    """
    path = _path(file)
    callers = read_callers(path)
    if callers.pop(name, None) is None:
        raise InputError([f"{path} has no caller called {name!r}"])
    write_callers(path, callers)
    tell({"name": name}, f"{name} may not call any more", as_json)


def _path(given: Path | None) -> Path:
    return given or Path(str(load().security.get("callers", DEFAULT_FILE)))


def _asked_for() -> str:
    password: str = typer.prompt("Password", hide_input=True, confirmation_prompt=True)
    if len(password) < _SHORTEST:
        raise InputError([f"a password has at least {_SHORTEST} characters"])
    return password


def _means(known: KnownCaller) -> str:
    return "password" if known.password else "token"
