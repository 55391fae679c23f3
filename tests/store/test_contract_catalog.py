"""Every store: the catalog is only appended, one version at a time; a lease has one holder."""

import threading

import pytest

from conjoin.errors import StoreDamaged, StoreExists, StoreUnfinished
from conjoin.store import tables as t
from conjoin.store.port import Facts, Store
from conjoin.store.rows import DefinitionRow, PolicyRow, ResourceRow
from tests.store.conftest import Place
from tests.store.samples import LARGEST, commit

MODEL = b"<definitions name='Z\xc3\xbcrich'/>\x00"


def definition(key: int, catalog_version: int) -> DefinitionRow:
    return DefinitionRow(key, catalog_version, "acme", "order", key, "order.bpmn", "d1", 10)


def policy(catalog_version: int, name: str = "*") -> PolicyRow:
    return PolicyRow(catalog_version, name, '{"ttl_ms": 5}', LARGEST)


def test_a_store_remembers_what_was_chosen_when_it_was_made(place: Place) -> None:
    made = place.create(shards=3)
    assert made.facts == place.open().facts
    assert (made.facts.shards, made.facts.profile, made.facts.unique_business_ids) == (3, "zeebe", False)
    assert [made.shard(index).index for index in range(3)] == [0, 1, 2]


def test_where_there_is_a_store_no_other_is_made(place: Place) -> None:
    commit(place.create().shard(0), {})
    with pytest.raises(StoreExists):
        place.create()
    assert place.open().shard(0).begin().head.version == 1


def test_a_new_catalog_is_empty_and_at_version_0(store: Store) -> None:
    assert store.catalog.version() == 0
    assert store.catalog.definitions() == []
    assert store.catalog.policies() == []


def test_what_is_appended_is_there_for_another_process(store: Store, place: Place) -> None:
    other = place.open().catalog
    assert other.version() == 0
    rows = {t.DEFINITION: [definition(1, 1)], t.RESOURCE: [ResourceRow("d1", MODEL)], t.POLICY: [policy(1)]}
    assert store.catalog.append(0, rows) is True
    assert (other.version(), other.definitions(), other.policies()) == (1, [definition(1, 1)], [policy(1)])
    assert other.resource("d1") == MODEL


def test_who_appends_to_an_older_version_appends_nothing(store: Store, place: Place) -> None:
    assert store.catalog.append(0, {t.DEFINITION: [definition(1, 1)]})
    late = place.open().catalog
    assert late.append(0, {t.DEFINITION: [definition(2, 1)], t.POLICY: [policy(1)]}) is False
    assert (late.version(), late.definitions(), late.policies()) == (1, [definition(1, 1)], [])


def test_later_definitions_and_policies_can_be_asked_for_alone(store: Store) -> None:
    catalog = store.catalog
    for version in range(3):
        later = version + 1
        rows = {
            t.DEFINITION: [definition(20 - later, later), definition(10 - later, later)],
            t.POLICY: [policy(later, "paid"), policy(later, "*")],
        }
        assert catalog.append(version, rows)
    assert [row.key for row in catalog.definitions()] == [9, 19, 8, 18, 7, 17]
    assert [row.key for row in catalog.definitions(after=2)] == [7, 17]
    assert [(row.catalog_version, row.name) for row in catalog.policies(after=1)] == [
        *((2, "*"), (2, "paid")),
        *((3, "*"), (3, "paid")),
    ]


def test_a_model_deployed_again_is_kept_once(store: Store) -> None:
    for version in range(2):
        assert store.catalog.append(version, {t.RESOURCE: [ResourceRow("d1", MODEL)]})
    assert store.catalog.resource("d1") == MODEL


def test_a_model_that_is_gone_is_damage_and_named(store: Store) -> None:
    with pytest.raises(StoreDamaged, match="d9"):
        store.catalog.resource("d9")


def test_of_all_who_append_to_one_version_one_wins(store: Store, place: Place) -> None:
    catalogs = [store.catalog, store.catalog, place.open().catalog, place.open().catalog]
    won: list[int] = []

    def append(number: int) -> None:
        if catalogs[number].append(0, {t.DEFINITION: [definition(number, 1)]}):
            won.append(number)

    threads = [threading.Thread(target=append, args=(number,)) for number in range(len(catalogs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(won) == 1
    assert store.catalog.definitions() == [definition(won[0], 1)]


def test_a_lease_has_one_holder_until_it_is_over(store: Store, place: Place) -> None:
    here, there = store.catalog, place.open().catalog
    assert here.lease("sweep", "here", 100, 200)
    assert not there.lease("sweep", "there", 199, 300)
    assert there.lease("sweep", "there", 200, 300)
    assert not here.lease("sweep", "here", 201, 400)


def test_a_holder_prolongs_its_lease(store: Store) -> None:
    assert store.catalog.lease("sweep", "here", 100, 200)
    assert store.catalog.lease("sweep", "here", 150, 300)
    assert not store.catalog.lease("sweep", "there", 250, 400)


def test_leases_of_different_names_do_not_meet(store: Store) -> None:
    assert store.catalog.lease("sweep", "here", 100, 200)
    assert store.catalog.lease("compaction", "there", 100, 200)


def test_facts_say_whether_business_ids_are_unique(place: Place) -> None:
    made = place.create_with(Facts(1, "fleans", 0, unique_business_ids=True))
    assert made.facts.unique_business_ids is True
    assert place.open().facts == made.facts


def test_a_lease_that_a_wrong_clock_has_made_too_long_holds_nobody_up(store: Store) -> None:
    a_day = 24 * 3_600 * 1_000_000
    assert store.catalog.lease("sweep", "here", 10 * a_day, 10 * a_day + 100)
    assert not store.catalog.lease("sweep", "there", 9 * a_day + 100, 9 * a_day + 200)
    assert store.catalog.lease("sweep", "there", 8 * a_day, 8 * a_day + 100)


def test_a_store_that_is_not_filled_to_its_end_is_not_opened(store: Store, place: Place) -> None:
    store.catalog.begin_filling("conjoin store restore")
    with pytest.raises(StoreUnfinished, match=r"only half made: 'conjoin store restore' was interrupted"):
        place.open()
    store.catalog.end_filling()
    place.open()
