"""conjoin inbox: messages that are kept, tried again and again, and looked after by people."""

import typer

from conjoin.cli.inbox import listing, mending, operations, receive, running

app = typer.Typer(
    name="inbox",
    help="Receives messages, tries them until they are taken, and lets people look after those that are not.",
    no_args_is_help=True,
)
for _command in (receive.receive, running.run, running.watch, listing.show):
    app.command()(_command)
app.command("list")(listing.list_messages)
app.command("set")(mending.set_)
app.command("correct")(mending.correct)
for _name, _act in operations.COMMANDS.items():
    app.command(_name)(_act)
