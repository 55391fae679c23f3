"""Options of commands that run for long: how much they log, and how. Flag over variable over conjoin.toml."""

import os
from typing import Annotated, Any

import typer

from conjoin.errors import SettingsError
from conjoin.logs import FORMATS, LEVELS, configure
from conjoin.settings import load, place_of

_PANEL = "Log"
LEVEL_VARIABLE, FORMAT_VARIABLE = "CONJOIN_LOG_LEVEL", "CONJOIN_LOG_FORMAT"
LogLevel = Annotated[
    str | None,
    typer.Option(
        "--log-level",
        envvar=LEVEL_VARIABLE,
        metavar="LEVEL",
        help="What is written to stderr: debug, info, warning or error; warning, if nothing is said.",
        rich_help_panel=_PANEL,
    ),
]
LogFormat = Annotated[
    str | None,
    typer.Option(
        "--log-format",
        envvar=FORMAT_VARIABLE,
        metavar="FORMAT",
        help="text, or json for an object a line; text, if nothing is said.",
        rich_help_panel=_PANEL,
    ),
]


def set_up_logging(level: str | None = None, form: str | None = None) -> None:
    """What is not given is looked for in the environment, then in `[server]` of conjoin.toml."""
    section = load().server
    configure(
        _chosen(level or os.environ.get(LEVEL_VARIABLE), section, "log_level", LEVELS) or "warning",
        _chosen(form or os.environ.get(FORMAT_VARIABLE), section, "log_format", FORMATS) or "text",
    )


def _chosen(given: str | None, section: dict[str, Any], key: str, known: tuple[str, ...]) -> str | None:
    if given and given.lower() in known:
        return given.lower()
    said = given or section.get(key)
    if said is None or said in known:
        return said
    place = f"--{key.replace('_', '-')} or CONJOIN_{key.upper()}" if given else f"{place_of('server')}: server: {key}"
    raise SettingsError([f"{place} = {said!r:.40}: is none of {', '.join(known)}"])
