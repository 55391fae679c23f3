"""What the requests of a batch touch, as far as they name it: it is fetched in bulk, before any is carried out.

A table by kind of request, and no rule. What it does not know of is fetched when its turn comes (`working_set.py`);
what was fetched and is not needed was only looked at. Sweeps and the inbox know their rows, and fetch them themselves.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from conjoin.kernel.definitions import Definitions
from conjoin.kernel.process import commands as c
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.codec.json_text import read_json
from conjoin.runtime.codec.orders import Request, read_order
from conjoin.runtime.engine.placement import first_key
from conjoin.runtime.run.batches import Mail
from conjoin.runtime.run.limits import order_text
from conjoin.runtime.run.working_set.loaded_spaces import MOST_MESSAGES, MOST_WAITING
from conjoin.store import tables as t
from conjoin.store.port import InstancesWanted, KeysWanted


class Touched:
    __slots__ = (
        *("business_ids", "definitions", "incidents", "instances", "jobs", "keys", "may_close_waits", "published"),
        "scopes",
    )

    def __init__(self, definitions: Definitions) -> None:
        self.definitions = definitions
        self.keys: dict[str, dict[str, None]] = {}
        """Correlation keys by tenant; likewise the business ids that new instances and messages bring."""
        self.business_ids: dict[str, list[str]] = {}
        self.published: dict[str, list[tuple[str, str]]] = {}
        """Keys and names of messages, by tenant."""
        self.instances: list[int] = []
        self.jobs: list[int] = []
        self.incidents: list[int] = []
        self.scopes: list[int] = []
        self.may_close_waits = False
        """Of instances that are found by something else than the key that they wait on."""

    def note_key(self, tenant_id: str, key: str) -> None:
        self.keys.setdefault(tenant_id, {})[key] = None

    def note_business_id(self, tenant_id: str, business_id: str) -> None:
        if business_id:
            self.business_ids.setdefault(tenant_id, []).append(business_id)

    def wanted(self) -> Iterator[KeysWanted | InstancesWanted]:
        """For the beginning of a snapshot: in the words of what will be asked of it."""
        for tenant_id, keys in self.keys.items():
            yield KeysWanted(tenant_id, tuple(keys), MOST_MESSAGES, MOST_WAITING)
        for by, numbers in ((t.JOB, self.jobs), (t.INCIDENT, self.incidents), (None, self.instances)):
            if numbers:
                yield InstancesWanted(by, tuple(dict.fromkeys(numbers)))


def read_mail(mail: Mail) -> list[Request | None]:
    """None for what cannot be read: it is told of when its turn comes."""
    return [_read(row.command) for _, row in mail]


def _read(text: str) -> Request | None:
    try:
        order: Request = read_order(read_json(order_text(text)))
    except Exception:  # noqa: BLE001 - whatever another version has sent
        return None
    return order


def touched_by(mail: Sequence[Request | None], requests: Sequence[object], definitions: Definitions) -> Touched:
    touched = Touched(definitions)
    for request in (*mail, *requests) if mail else requests:
        note = _NOTE.get(type(request))
        if note is not None:
            note(touched, request)
    return touched


def _message(touched: Touched, message: NewMessage) -> None:
    touched.note_key(message.tenant_id, message.key)
    touched.published.setdefault(message.tenant_id, []).append((message.key, message.name))
    touched.note_business_id(message.tenant_id, message.business_id)


def _creation(touched: Touched, order: c.CreateInstance) -> None:
    """A new instance will wait on the first key that its variables determine."""
    definitions, which = touched.definitions, (order.tenant_id, order.process_id)
    definition = definitions.version(*which, order.version) if order.version else definitions.latest(*which)
    key = None if definition is None else first_key(definition.plan, order.variables, order.at)
    if key is not None:
        touched.note_key(order.tenant_id, key)
    touched.note_business_id(order.tenant_id, order.business_id)


def _job(touched: Touched, order: Any) -> None:
    touched.jobs.append(order.key)


def _ended_job(touched: Touched, order: c.CompleteJob | c.ThrowError) -> None:
    touched.jobs.append(order.key)
    touched.may_close_waits = True


def _receiver(touched: Touched, order: c.DeliverMessage | c.RefuseSubscription) -> None:
    touched.instances.append(order.subscription.instance_id)
    touched.may_close_waits = True


def _cancelled(touched: Touched, order: c.CancelInstance) -> None:
    touched.instances.append(order.key)
    touched.may_close_waits = True


def _resolved(touched: Touched, order: c.ResolveIncident) -> None:
    touched.incidents.append(order.key)
    touched.may_close_waits = True


def _scope(touched: Touched, order: c.SetVariables) -> None:
    """Mostly it is an instance."""
    touched.instances.append(order.scope_key)
    touched.scopes.append(order.scope_key)


_NOTE: dict[type, Callable[[Touched, Any], None]] = {
    NewMessage: _message,
    c.ForKey: lambda touched, order: touched.note_key(order.tenant_id, order.key),
    c.CreateInstance: _creation,
    c.DeliverMessage: _receiver,
    c.RefuseSubscription: _receiver,
    **dict.fromkeys((c.FailJob, c.UpdateRetries, c.UpdateTimeout, c.AssignTask), _job),
    **dict.fromkeys((c.CompleteJob, c.ThrowError), _ended_job),
    c.ResolveIncident: _resolved,
    c.CancelInstance: _cancelled,
    c.SetVariables: _scope,
}
"""Each takes the kind of request that it stands for."""
