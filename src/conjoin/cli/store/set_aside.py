"""conjoin store set-aside: what could not be carried out, listed, retried and deleted."""

from typing import Annotated, Any

import typer

from conjoin.cli.engine.where import Where, on_engine
from conjoin.cli.list_options import After, Limit, Lines, print_page
from conjoin.cli.printing import AsJson, accepted, tell
from conjoin.kernel.storable import LARGEST_INT64
from conjoin.runtime.reading.lists import ListQuery

Key = Annotated[int, typer.Argument(min=0, max=LARGEST_INT64, help="As the list shows it.")]
_COLUMNS = ("key", "kind", "item", "instance_key", "since_at", "attempts", "next_try_at", "reason")
app = typer.Typer(name="set-aside", help="List, retry and delete what could not be carried out.", no_args_is_help=True)


@app.command("list")
@on_engine
def listed(
    where: Where,
    kind: Annotated[str | None, typer.Option(help="Only mail, timer, job, message or start timers.")] = None,
    limit: Limit = 50,
    after: After = None,
    as_json: Lines = False,
) -> None:
    """List what was set aside: what it is, since when, how often it was retried, and why it fails.

    [bold]Example[/bold]

      conjoin store set-aside list
    """
    filters: dict[str, Any] = {"state": "waiting"} if kind is None else {"state": "waiting", "kind": kind}
    with where.engine() as engine:
        page = accepted(engine.page("set-aside", ListQuery(filters, None, None, limit, after)), as_json)
    print_page(page, _COLUMNS, "nothing is set aside", as_json)


@app.command("retry")
@on_engine
def retry(where: Where, key: Key, as_json: AsJson = False) -> None:
    """Retry it; if it works now, it is no longer set aside.

    [bold]Example[/bold]

      conjoin store set-aside retry 2251799813685300
    """
    with where.engine() as engine:
        accepted(engine.retry_set_aside(key), as_json)
    tell({"key": str(key), "retried": True}, f"{key} was carried out", as_json)


@app.command("delete")
@on_engine
def delete(where: Where, key: Key, as_json: AsJson = False) -> None:
    """Never carry it out. What waits for it keeps waiting: cancel the instance that the list names.

    [bold]Example[/bold]

      conjoin store set-aside delete 2251799813685300
    """
    with where.engine() as engine:
        accepted(engine.delete_set_aside(key), as_json)
    tell({"key": str(key), "deleted": True}, f"{key} will never be carried out", as_json)
