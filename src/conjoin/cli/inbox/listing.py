"""conjoin inbox list and show: what is in the inbox, and everything that is known of one message."""

from conjoin.cli.engine.port import Told, ToldPage
from conjoin.cli.engine.where import Where, on_engine
from conjoin.cli.inbox.opening import opened_inbox
from conjoin.cli.inbox.operators import operators_inbox
from conjoin.cli.inbox.options import (
    ChannelName,
    ErrorClass,
    ErrorText,
    Group,
    Key,
    MessageId,
    MessageKey,
    Name,
    Since,
    State,
    TargetName,
    TenantId,
    Type,
    Typed,
    Until,
)
from conjoin.cli.inbox.telling import shown_as_object, shown_in_words
from conjoin.cli.list_options import After, Limit, Lines, print_page
from conjoin.cli.printing import AsJson, accepted, tell
from conjoin.cli.store_option import Data, StoreUrl
from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.inbox.listing import Shown

_COLUMNS = ("key", "state", "reason", "channel", "name", "correlation_key", "attempts", "next_retry_at", "error_text")
_ERROR_SHOWN = 60


@on_engine
def list_messages(
    where: Where,
    state: State = None,
    channel: ChannelName = None,
    type_: Type = None,
    target: TargetName = None,
    name: Name = None,
    key: Key = None,
    message_id: MessageId = None,
    tenant: TenantId = None,
    error: ErrorClass = None,
    text: ErrorText = None,
    group: Group = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 50,
    after: After = None,
    as_json: Lines = False,
) -> None:
    """List messages of the inbox, oldest first on each shard.

    [bold]Examples[/bold]

      conjoin inbox list --state parked --text "HTTP 503"

      conjoin inbox list --type orders.Paid --until 1d --json
    """
    filters = {"state": state, "channel": channel, "type": type_, "target": target, "name": name, "key": key}
    filters |= {"id": message_id, "tenant": tenant, "error": error, "text": text, "group": group}
    with operators_inbox(where) as inbox:
        page = inbox.page(Typed(filters, since, until).asked(inbox.now, limit, after))
    print_page(page if as_json else _cut(page), _COLUMNS, "no messages in the inbox", as_json)


def show(key: MessageKey, data: Data = None, store: StoreUrl = None, as_json: AsJson = False) -> None:
    """Show a message: its payload, its headers, and every attempt with what was asked and what was answered.

    [bold]Example[/bold]

      conjoin inbox show 2251799813685260
    """
    with opened_inbox(data, store) as inbox:
        found: Shown | Refusal = inbox.show(key) or Refusal("not_found", f"there is no message {key} in the inbox")
        shown = accepted(found, as_json)
    tell(shown_as_object(shown), shown_in_words(shown), as_json)


def _cut(page: ToldPage) -> ToldPage:
    """The head of an error is enough in a table."""
    return page._replace(items=[_with_head(item) for item in page.items])


def _with_head(item: Told) -> Told:
    head = next(iter(item["error_text"].splitlines()), "")
    return item | {"error_text": head if len(head) <= _ERROR_SHOWN else f"{head[: _ERROR_SHOWN - 3]}..."}
