"""Policies that are set very often: what held at each version is known, and a change costs what there is to change."""

import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from conjoin.kernel.policies import WHILE_BUFFERED, read_policies
from conjoin.runtime.engine.stored_catalog import inbox_version
from conjoin.runtime.opening import create_broker, open_broker, temporary_broker

CHANGES: list[tuple[str, Mapping[str, Any]]] = [
    ("paid", {"dedup": "7d"}),
    ("*", {"time_to_live": "1h", "dedup": "1d"}),
    ("sent", {"grace": "1s"}),
    ("paid", {"time_to_live": "5m"}),
    ("*", {}),
    ("paid", {}),
    ("*", {"time_to_live": "2h"}),
]
NAMES = ("paid", "sent", "other", "*")
MANY = 300


@pytest.mark.parametrize("profile", ["zeebe", "correlate"])
def test_what_held_at_each_version_is_known_ever_after(profile: str) -> None:
    with closing(temporary_broker(1, profile=profile)) as broker:
        for name, values in CHANGES:
            broker.catalog.set_policy(name, values, 0)
        view = broker.catalog.view()
        for version in range(len(CHANGES) + 1):
            changes = dict(CHANGES[:version])
            own, inbox = read_policies(profile, changes)[0], read_policies("correlate", changes)[0]
            for name in NAMES:
                assert view.policy_of(name, version) == own.of(name)
                told = view.policy_of(name, inbox_version(version))
                assert told.time_to_live == inbox.of(name).time_to_live
                assert told.dedup == WHILE_BUFFERED
        assert view.policies == own
        assert view.policies.of("sent") == view.policy_of("sent", len(CHANGES))


def test_a_change_costs_no_more_than_there_are_names(tmp_path: Path) -> None:
    began = time.thread_time()
    with closing(create_broker(tmp_path / "store", 1)) as broker:
        for number in range(MANY):
            broker.catalog.set_policy(f"name-{number}", {"dedup": "7d"}, 0)
    with closing(open_broker(tmp_path / "store")) as again:
        assert len(again.catalog.in_force()) == MANY
    assert time.thread_time() - began < 20
