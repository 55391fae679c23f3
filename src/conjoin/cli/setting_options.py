"""Options of settings: flag, help and default are written once, where `conjoin.settings` declares them."""

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Annotated, Any

import typer

from conjoin.settings import SETTINGS, Settings, load

_METAVARS = {
    **{"data": "DIR", "store": "URL", "server": "URL", "traces": "URL", "host": "ADDRESS", "ca": "FILE"},
    **{"allowed_hosts": "NAME", "user": "NAME", "log_level": "LEVEL", "log_format": "FORMAT"},
}


def option_of(name: str, panel: str) -> inspect.Parameter:
    """What is not given is None: then the environment, the file or the default says it."""
    declared, annotation = SETTINGS[name], Settings.model_fields[name].annotation
    help_ = f"{declared.what[0].upper()}{declared.what[1:]}."
    if declared.default not in (None, False, []):
        help_ += f" Default: {declared.default}"
    kinds: dict[Any, Any] = {bool: bool, list[str]: list[str] | None}
    metavar = None if annotation is bool else _METAVARS.get(name, "N" if annotation is int else "TEXT")
    option = typer.Option(declared.flag, metavar=metavar, help=help_, rich_help_panel=panel, show_default=False)
    kind = kinds.get(annotation, str | None)
    default = False if annotation is bool else None
    parameter = Annotated[kind, option]  # type: ignore[valid-type]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=parameter)


def given(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Without those that were not typed."""
    return {name: value for name, value in flags.items() if value not in (None, False, [])}


def with_options(
    function: Callable[..., Any], instead_of: str, panels: Mapping[str, str], made: Callable[[dict[str, Any]], Any]
) -> Callable[..., Any]:
    """A command with options in place of one parameter, which is made of what was typed."""

    @wraps(function)
    def command(**named: Any) -> Any:
        flags = {name: named.pop(name) for name in panels}
        return function(**named, **{instead_of: made(given(flags))})

    parameters = inspect.signature(function).parameters
    kept = [it.replace(kind=inspect.Parameter.KEYWORD_ONLY) for it in parameters.values() if it.name != instead_of]
    every = [*kept, *(option_of(name, panel) for name, panel in panels.items())]
    command.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
    command.__annotations__ = {it.name: it.annotation for it in every}
    del command.__wrapped__
    return command


def with_settings(**panels: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A command that takes `settings`: those in force, with a flag for each of these names, by panel of the help."""
    return lambda function: with_options(function, "settings", panels, lambda flags: load(**flags))
