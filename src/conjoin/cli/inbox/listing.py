"""conjoin inbox list and show: what is in the inbox, and everything that is known of one message."""

from conjoin.cli.engine.port import ToldPage
from conjoin.cli.inbox.opening import opened_inbox
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
from conjoin.runtime.inbox.listing import InboxItem, Shown
from conjoin.runtime.reading.lists import ListPage
from conjoin.runtime.visibility.plain_values import told

_COLUMNS = ("key", "state", "reason", "channel", "name", "correlation_key", "attempts", "next_retry_at", "error_text")
_ERROR_SHOWN = 60


def list_messages(
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
    data: Data = None,
    store: StoreUrl = None,
    as_json: Lines = False,
) -> None:
    """List messages of the inbox, oldest first on each shard.

    [bold]Examples[/bold]

      conjoin inbox list --state parked --text "HTTP 503"

      conjoin inbox list --type orders.Paid --until 1d --json
    """
    filters = {"state": state, "channel": channel, "type": type_, "target": target, "name": name, "key": key}
    filters |= {"id": message_id, "tenant": tenant, "error": error, "text": text, "group": group}
    with opened_inbox(data, store) as inbox:
        page = inbox.page(Typed(filters, since, until).asked(inbox.shards.now, limit, after))
    items = [told(item) for item in (page if as_json else _cut(page)).items]
    print_page(ToldPage(items, page.after), _COLUMNS, "no messages in the inbox", as_json)


def show(key: MessageKey, data: Data = None, store: StoreUrl = None, as_json: AsJson = False) -> None:
    """Show a message: its payload, its headers, and every attempt with what was asked and what was answered.

    [bold]Example[/bold]

      conjoin inbox show 2251799813685260
    """
    with opened_inbox(data, store) as inbox:
        found: Shown | Refusal = inbox.show(key) or Refusal("not_found", f"there is no message {key} in the inbox")
        shown = accepted(found, as_json)
    tell(shown_as_object(shown), shown_in_words(shown), as_json)


def _cut(page: ListPage) -> ListPage:
    """The head of an error is enough in a table."""
    return page._replace(items=[_with_head(item) for item in page.items])


def _with_head(item: InboxItem) -> InboxItem:
    head = next(iter(item.error_text.splitlines()), "")
    return item._replace(error_text=head if len(head) <= _ERROR_SHOWN else f"{head[: _ERROR_SHOWN - 3]}...")
