"""No row of the catalog closes a store: policies that a model does not stand, models that cannot be read any more."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from conjoin.bpmn import model as bpmn_model
from conjoin.bpmn.document import Document, Found
from conjoin.errors import ModelError, PolicyError
from conjoin.runtime import Refusal
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import CreatedInstance, Deployment
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.engine.stored_catalog import StoredCatalog
from conjoin.runtime.opening import temporary_broker
from conjoin.store import tables as t
from conjoin.store.port import Facts, Store
from conjoin.store.rows import DefinitionRow, PolicyRow, ResourceRow
from conjoin.testing.clock import FakeClock
from tests.store.conftest import postgres_place, sqlite_place
from tests.testing.order import ORDER

KEYLESS = ORDER.replace(b'<zeebe:subscription correlationKey="=orderId"/>', b"")
BY_BUSINESS_KEY = {"match": "business_key"}


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    postgres = request.param == "postgres"
    place = postgres_place(request.getfixturevalue("postgres_server")) if postgres else sqlite_place(tmp_path / "store")
    yield place.create_with(Facts(1, "fleans", 0, unique_business_ids=False))
    place.close()


@pytest.fixture(autouse=True)
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule, as there may be one, that a policy can break: a message without a key wants to know what it matches."""

    def matched(document: Document) -> Found:
        for message in {node.caught for node in document.nodes if node.caught and not node.starts_process}:
            if document.policies.of(message.name or "").match == "key" and not message.keys:
                yield message, f"nothing says what '{message.name}' matches", "Say it."

    monkeypatch.setattr(bpmn_model, "RULES", (*bpmn_model.RULES, matched))


def _with_keyless_model(store: Store) -> Broker:
    broker = Broker(store, FakeClock())
    broker.catalog.set_policy("paid", BY_BUSINESS_KEY, 0)
    assert isinstance(broker.deploy([("order.bpmn", KEYLESS)]), Deployment)
    return broker


@pytest.mark.parametrize("values", [{"match": "key"}, {"match": "key", "dedup": "7d"}])
def test_policies_that_a_deployed_model_does_not_stand_are_refused_and_nothing_is_written(
    store: Store, values: dict[str, str]
) -> None:
    broker = _with_keyless_model(store)
    before = store.catalog.version()
    with pytest.raises(PolicyError, match=r"order\.bpmn:\d+: .*paid"):
        broker.catalog.set_policy("paid", values, 0)
    assert store.catalog.version() == before
    assert len(store.catalog.policies()) == 1
    assert isinstance(broker.create_instance("order", {}, business_id="b-1"), CreatedInstance)


def test_a_store_with_such_a_row_opens_names_it_and_is_mended_by_the_next_change(store: Store) -> None:
    _with_keyless_model(store)
    version = store.catalog.version()
    assert store.catalog.append(version, {t.POLICY: [PolicyRow(version + 1, "paid", '{"match": "key"}', 0)]})
    again = Broker(store, FakeClock())
    [trouble] = again.catalog.troubles()
    assert trouble.startswith(
        f"the policies set for 'paid' at catalog version {version + 1} are not in force: order.bpmn:"
    )
    assert again.catalog.in_force() == {"paid": BY_BUSINESS_KEY}
    assert isinstance(again.create_instance("order", {}, business_id="b-1"), CreatedInstance)
    assert not isinstance(again.publish(NewMessage("paid", "b-1")), Refusal)
    again.catalog.set_policy("paid", {**BY_BUSINESS_KEY, "dedup": "7d"}, 0)
    assert again.catalog.troubles() == []


def test_a_policy_that_cannot_be_read_is_not_in_force(store: Store) -> None:
    assert store.catalog.append(0, {t.POLICY: [PolicyRow(1, "paid", "{", 0)]})
    catalog = StoredCatalog(store.catalog, "fleans")
    assert catalog.in_force() == {}
    assert len(catalog.troubles()) == 1


def test_a_model_that_cannot_be_read_any_more_is_set_apart_and_all_else_runs(store: Store) -> None:
    broker = _with_keyless_model(store)
    version = store.catalog.version()
    rows = {
        t.RESOURCE: [ResourceRow("bad", b"<no model/>")],
        t.DEFINITION: [DefinitionRow(900, version + 1, "<default>", "old", 1, "old.bpmn", "bad", 0)],
    }
    assert store.catalog.append(version, rows)
    again = Broker(store, FakeClock())
    assert isinstance(again.create_instance("order", {}, business_id="b-1"), CreatedInstance)
    refused = again.create_instance("old", {})
    assert isinstance(refused, Refusal)
    assert "version 1 of the process 'old' is set apart, the file old.bpmn cannot be read any more" in refused.text
    assert again.catalog.troubles() == [refused.text]
    with pytest.raises(ModelError, match="set apart"):
        again.definitions.by_key[900].plan.elements["task"]
    broker.catalog.set_policy("paid", {**BY_BUSINESS_KEY, "dedup": "7d"}, 0)


def test_a_deployment_compiles_what_it_brings_and_nothing_else(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Broker(store, FakeClock())
    compiled: list[str] = []
    compile_process = bpmn_model.compile_process

    def counted(document, process):  # type: ignore[no-untyped-def]
        compiled.append(process.id)
        return compile_process(document, process)

    monkeypatch.setattr(bpmn_model, "compile_process", counted)
    for number in range(5):
        content = ORDER.replace(b'id="order"', f'id="order{number}"'.encode()).replace(
            b'id="ticket"', f'id="ticket{number}"'.encode()
        )
        assert isinstance(broker.deploy([(f"order{number}.bpmn", content)]), Deployment)
    assert compiled == [f"{name}{number}" for number in range(5) for name in ("order", "ticket")]
    assert broker.definitions.latest("<default>", "order3") is not None


@pytest.mark.parametrize("name", ["", " ", "\0", "\ud800", "n" * 40_000])
def test_no_policy_is_set_for_a_name_that_no_message_can_have(name: str) -> None:
    broker = temporary_broker(1)
    with pytest.raises(PolicyError, match="the message name"):
        broker.catalog.set_policy(name, {"expected": 2}, broker.now)
    assert broker.catalog.view().version == 0
    broker.close()
