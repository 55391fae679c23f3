"""One run of a command: where it works (`--data`, `--store`, `--server`), and how it prints (`--json`).

`@command` makes a command of a function that takes an `CommandCall` first. The flags of settings are declared where the
settings are; a store that a flag names takes precedence over a server that the settings name.
"""

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cached_property, wraps
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_args, get_origin

import typer

from conjoin.cli.commands import COMMANDS
from conjoin.cli.printing import complain, json_line, shown, table
from conjoin.errors import CallFailed, ExtraMissing, InputError
from conjoin.settings import SETTINGS, Settings, load

if TYPE_CHECKING:
    from conjoin.cli.engine.on_store import OnStore
    from conjoin.cli.engine.through_server import ThroughServer
    from conjoin.client import Client
    from conjoin.runtime.broker import Broker
    from conjoin.runtime.client_api.answers import Refusal
    from conjoin.runtime.reading.lists import ListPage, ListQuery
    from conjoin.store.port import Store

REFUSED = 1
STORE = dict.fromkeys(("data", "store"), "Store")
ENGINE = STORE | dict.fromkeys(("server", "token", "user", "ca"), "Server")
SPARK = dict.fromkeys(("master", "driver_memory", "jars"), "Spark")
"""Flags of settings, by panel of the help."""
OBJECT = "Print one JSON object."
LINES = "Print one JSON object per line; the last may be a cursor for --after."
_METAVARS = {
    **{"data": "DIR", "store": "URL", "server": "URL", "traces": "URL", "host": "ADDRESS", "ca": "FILE"},
    **{"allowed_hosts": "NAME", "user": "NAME", "jars": "JAR,...", "driver_memory": "2g", "partitions": "N"},
    **{"master": "MASTER", "log_level": "LEVEL", "log_format": "FORMAT", "inbox_engine": "spark|inline"},
}
_REFUSALS = frozenset({"NOT_FOUND", "ALREADY_EXISTS", "INVALID_ARGUMENT", "INVALID_STATE"}) | {
    *("not_found", "ended", "uncertain", "paused", "not_paused", "parked", "not_parked", "moving", "invalid"),
    "too_large",
}
"""Reasons of a server that are a business no, of the engine and of the inbox; any other is an error."""

_A = TypeVar("_A")


def command(
    flags: Mapping[str, str | None], *examples: str, json: str = OBJECT, filters: Mapping[str, Any] | None = None
) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """`json` is the help of --json, empty for a command without it; `filters` are options for `CommandCall.query`."""

    def decorated(function: Callable[..., Any]) -> Callable[..., None]:
        _, *own = inspect.signature(function).parameters.values()
        more = [_parameter(f"filter_{name}", kind, None) for name, kind in (filters or {}).items()]
        last = [_parameter("as_json", Annotated[bool, typer.Option("--json", help=json)], False)] if json else []
        parameters = [*more, *(it.replace(kind=it.KEYWORD_ONLY) for it in own), *last]
        parameters += [_setting(name, panel) for name, panel in flags.items()]

        @wraps(function)
        def run(**given: Any) -> None:
            typed = {name: given.pop(name) for name in flags}
            chosen = {name: given.pop(f"filter_{name}") for name in filters or {}}
            function(CommandCall(typed, given.pop("as_json", False), chosen), **given)

        if examples:
            heading = "Example" if len(examples) == 1 else "Examples"
            lines = "\n\n".join(f"  {example}" for example in examples)
            run.__doc__ = f"{inspect.cleandoc(function.__doc__ or '')}\n\n[bold]{heading}[/bold]\n\n{lines}"
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {it.name: it.annotation for it in parameters}
        del run.__wrapped__
        return run

    return decorated


def _parameter(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _setting(name: str, panel: str | None) -> inspect.Parameter:
    """What is not typed is None: then the environment, the file or the default says it."""
    declared, annotation = SETTINGS[name], Settings.model_fields[name].annotation
    help_ = f"{declared.what[0].upper()}{declared.what[1:]}."
    if declared.default not in (None, False, []):
        help_ += f" Default: {declared.default}"
    if annotation is bool:
        return _parameter(name, Annotated[bool, typer.Option(declared.flag, help=help_, rich_help_panel=panel)], False)
    words = "|".join(get_args(annotation)) if get_origin(annotation) is Literal else ""
    metavar = _METAVARS.get(name) or words or ("N" if annotation is int else "TEXT")
    option = typer.Option(declared.flag, metavar=metavar, help=help_, rich_help_panel=panel, show_default=False)
    return _parameter(name, Annotated[list[str] | None if annotation == list[str] else str | None, option], None)


def on_engine(*examples: str) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """A command that works on a store or through a server."""
    return command(ENGINE, *examples)


def on_store(*examples: str) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """A command that works on a store only."""
    return command(STORE, *examples)


class CommandCall:
    """`filters` are those that were typed; of flags only those that were."""

    def __init__(self, flags: Mapping[str, Any], as_json: bool, filters: Mapping[str, Any]) -> None:
        self.flags = {name: value for name, value in flags.items() if value not in (None, False, [])}
        self.as_json = as_json
        self.filters = {name: value for name, value in filters.items() if value is not None}
        self.data, self.store = self.flags.get("data"), self.flags.get("store")
        if "server" in self.flags and (self.data is not None or self.store is not None):
            raise InputError(["--server and a store are two places: give one of them"])

    @cached_property
    def settings(self) -> Settings:
        return load(**self.flags)

    @property
    def address(self) -> str | Path:
        return address_of(self.data, self.store)

    @property
    def server(self) -> str | None:
        """None: the command works on a store."""
        return self.settings.server if self.data is None and self.store is None else None

    @property
    def where(self) -> str:
        return shown(self.address if self.server is None else self.server)

    def opened_store(self) -> "closing[Store]":
        return opened_store(self.address)

    @contextmanager
    def broker(self) -> "Iterator[Broker]":
        """Held beside others who work on the store, and never beside one who needs it alone."""
        from conjoin.runtime.opening import open_broker
        from conjoin.runtime.visibility.hiding import Hiding

        with closing(open_broker(self.address)) as broker, broker.store.held(_name()):
            # What a server of these settings hides, commands hide, too.
            names = load().security.get("redact", ())
            if isinstance(names, list):
                broker.hiding = Hiding(name for name in names if isinstance(name, str))
            yield broker

    @contextmanager
    def client(self) -> "Iterator[Client | None]":
        if self.server is None:
            yield None
            return
        with _connected(self.settings, self.server) as client:
            yield client

    @contextmanager
    def engine(self) -> "Iterator[OnStore | ThroughServer]":
        with self.client() as client:
            if client is not None:
                from conjoin.cli.engine.through_server import ThroughServer

                yield ThroughServer(client)
                return
        from conjoin.cli.engine.on_store import OnStore

        with self.broker() as broker:
            yield OnStore(broker)

    def do(self, act: "Callable[[OnStore | ThroughServer], _A | Refusal]") -> _A:
        """The answer of the engine; a refusal is printed and ends the command."""
        with self.refusals(), self.engine() as engine:
            return self.accepted(act(engine))

    @contextmanager
    def refusals(self) -> Iterator[None]:
        """What a server refuses is a refusal, too; that it cannot be reached, or that the caller may not, an error."""
        try:
            yield
        except CallFailed as error:
            if error.reason not in _REFUSALS:
                raise
            self.refuse(error.reason, error.sentence)

    def accepted(self, answer: "_A | Refusal") -> _A:
        from conjoin.runtime.client_api.answers import Refusal

        if isinstance(answer, Refusal):
            self.refuse(answer.code, answer.text)
        return answer  # type: ignore[return-value]

    def refuse(self, code: str, text: str) -> None:
        if self.as_json:
            self.print({"refused": code, "text": text}, "")
        else:
            complain(f"{code}: {text}")
        raise typer.Exit(REFUSED)

    def query(self, now: int, limit: int = 50, after: str | None = None) -> "ListQuery":
        """Of the filters that were typed."""
        from conjoin.cli.reading import read_when
        from conjoin.runtime.reading.lists import ListQuery

        wanted = dict(self.filters)
        since, until = (read_when(wanted.pop(name, None), f"--{name}", now) for name in ("since", "until"))
        return ListQuery(wanted, since, until, limit, after)

    def print(self, value: Mapping[str, Any], text: str) -> None:
        """As JSON or as text. In JSON keys of records are texts: they outgrow the numbers that jq keeps exact."""
        typer.echo(json_line(value) if self.as_json else text)

    def print_page(self, page: "ListPage", columns: Sequence[str], nothing: str) -> None:
        """A table, or one JSON object per line."""
        if self.as_json:
            lines = [*map(json_line, page.items), *([json_line({"after": page.after})] if page.after else [])]
        else:
            lines = list(table(columns, page.items)) if page.items else [nothing]
            lines += [f"more: --after {page.after}"] if page.after else []
        for line in lines:
            typer.echo(line)

    def spark(self, name: str, java_options: str = "") -> Any:
        """A session for the command of this name, which checks first whether Spark is installed (`check_spark`)."""
        from conjoin.cli.progress import progress
        from conjoin.pipeline.session.session import session

        with progress() as step:
            step("starting Spark")
            return session(self.settings, name, java_options)


def check_spark(name: str) -> None:
    """Before anything of the pipeline is imported."""
    _check_installed(name, "pyspark")


def check_arrow(name: str) -> None:
    """What works without Spark works with what comes with it."""
    _check_installed(name, "pyarrow")


def _check_installed(name: str, module: str) -> None:
    if find_spec(module) is None:
        raise ExtraMissing(name, "Apache Spark", "spark")


def address_of(data: str | None, store: str | None) -> str | Path:
    """What `open_store` takes: a data directory, or the URL of a PostgreSQL store. A flag counts before a setting."""
    if data is not None and store is not None:
        raise InputError(["--data and --store name two stores: give one of them"])
    settings = load(data=data, store=store)
    return Path(settings.data) if settings.store is None or data is not None else settings.store


def opened_store(address: str | Path) -> "closing[Store]":
    from conjoin.store.opening import open_store

    return closing(open_store(address))


def _name() -> str:
    """How others see who holds the store: the name of the command, and nothing that was typed after it."""
    words = 2 if sys.argv[1:2] and sys.argv[1] in COMMANDS else 1
    return " ".join(("conjoin", *(word for word in sys.argv[1 : words + 1] if not word.startswith("-"))))


def _connected(settings: Settings, url: str) -> "Client":
    from conjoin.client import Basic, Bearer, Client, ClientTls, Patience

    if settings.token is not None and settings.user is not None:
        raise InputError(["a token and a user are two ways to call a server: give one of them"])
    credentials: Basic | Bearer | None = Bearer(settings.token) if settings.token is not None else None
    if settings.user is not None:
        password = settings.password or typer.prompt(f"Password of {settings.user}", hide_input=True, err=True)
        credentials = Basic(settings.user, password)
    try:
        tls = None if settings.ca is None else ClientTls(settings.ca)
        return Client(url, credentials, tls, timeout_s=30.0, patience=Patience(attempts=3))
    except OSError as error:
        raise InputError([f"{settings.ca}: cannot be used: {error.strerror or error}"]) from None
