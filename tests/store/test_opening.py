"""A store by its address, and the errors of stores: each has a code, says where and what to do, and can be pickled."""

import pickle
import sys
from pathlib import Path

import pytest

from conjoin.errors import (
    ExtraMissing,
    OutcomeUnknown,
    StoreDamaged,
    StoreExists,
    StoreFailed,
    StoreInUse,
    StoreMissing,
    StoreTooNew,
    StoreUnfinished,
)
from conjoin.store import create_store, open_store
from conjoin.store.port import Facts
from conjoin.store.sqlite.store import SqliteStore

FACTS = Facts(1, "zeebe", 0, unique_business_ids=False)


@pytest.mark.parametrize("as_text", [True, False])
def test_a_folder_is_the_address_of_a_sqlite_store(tmp_path: Path, as_text: bool) -> None:
    folder = tmp_path / "a" / "new # folder?"
    create_store(str(folder) if as_text else folder, FACTS).close()
    opened = open_store(str(folder) if as_text else folder)
    assert isinstance(opened, SqliteStore)
    opened.close()


@pytest.mark.parametrize("url", ["postgres://host/db", "postgresql://user:secret@host/db"])
def test_postgresql_without_its_driver_names_the_extra(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for ask in (lambda: open_store(url), lambda: create_store(url, FACTS)):
        with pytest.raises(ExtraMissing, match=r"pip install 'conjoin\[postgres\]'"):
            ask()


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (StoreMissing("there is no store in x"), "store_missing"),
        (StoreExists("x holds a store already"), "store_exists"),
        (StoreTooNew("x", 3, 2), "store_too_new"),
        (StoreDamaged("x", "malformed"), "store_damaged"),
        (StoreFailed("x: the disk is full"), "store_failed"),
        (StoreInUse("x is served"), "store_in_use"),
        (StoreUnfinished("x", "conjoin store restore"), "store_unfinished"),
        (OutcomeUnknown("x: the disk failed"), "outcome_unknown"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_error_of_a_store_has_its_code_and_survives_pickling(error: Exception, code: str) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.code) == (type(error), str(error), code)
    assert again.retryable is (code == "store_failed")
