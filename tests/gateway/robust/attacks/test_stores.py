"""Disks and files that fail under a served store: what is affected says so, and the rest goes on."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.opening import create_broker
from tests.bpmn.snippets import BEGIN, END, catch, model, service, timer
from tests.gateway.robust.serving import COMMAND, ROOT, ServingProcess

SHARDS = 4
BROKEN = 1
LONGEST_S = 60.0
KEYS = {shard_of(f"k-{number}", SHARDS): f"k-{number}" for number in range(200)}
GOOD = [shard for shard in range(SHARDS) if shard != BROKEN]
REMINDER = model(
    BEGIN
    + f'<intermediateCatchEvent id="soon">{timer("timeDuration", "PT1S")}</intermediateCatchEvent>\n'
    + service("remind")
    + END,
    "begin>soon soon>remind remind>end",
).replace(b'id="order"', b'id="reminder"')


def make(folder: Path, shards: int = SHARDS) -> None:
    with closing(create_broker(folder, shards)) as broker:
        broker.deploy([("reminder.bpmn", REMINDER)])


def publish(served: ServingProcess, key: str, **more: Any) -> httpx.Response:
    message = {"name": "paid", "key": key, "ttl": "1h", **more}
    return httpx.post(f"{served.rest}/conjoin/v1/messages", json=message, timeout=LONGEST_S)


def eventually(holds: Callable[[], Any]) -> Any:
    until = time.monotonic() + LONGEST_S
    while not (found := holds()):
        assert time.monotonic() < until, "it did not come about"
        time.sleep(0.05)
    return found


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *COMMAND, *arguments],
        capture_output=True,
        text=True,
        cwd=folder.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=LONGEST_S,
    )


def damage(file: Path) -> None:
    for end in ("-wal", "-shm"):
        file.with_name(file.name + end).unlink(missing_ok=True)
    file.write_bytes(b"\x5a" * max(file.stat().st_size if file.exists() else 0, 8192))


def remove(file: Path) -> None:
    for end in ("", "-wal", "-shm"):
        file.with_name(file.name + end).unlink(missing_ok=True)


@contextmanager
def serving(folder: Path) -> Iterator[ServingProcess]:
    served = ServingProcess(folder)
    try:
        yield served
        assert served.stop() == 0
        assert "Traceback" not in served.complaints
    finally:
        served.kill()


@pytest.fixture(params=[damage, remove], ids=["damaged", "missing"], scope="module")
def degraded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServingProcess]:
    """It was started with one shard of four that cannot be read."""
    folder = tmp_path_factory.mktemp("degraded") / "store"
    make(folder)
    request.param(folder / f"shard-{BROKEN:02}.db")
    with serving(folder) as served:
        yield served


def test_it_starts_and_says_which_shard_is_not_served(degraded: ServingProcess) -> None:
    assert f"shard {BROKEN} is not served: " in degraded.complaints
    assert f"shard-{BROKEN:02}.db is damaged" in degraded.complaints


def test_the_other_shards_take_messages_and_find_them(degraded: ServingProcess) -> None:
    for shard in GOOD:
        answer = publish(degraded, KEYS[shard])
        assert answer.status_code == 200, answer.text
        key = answer.json()["message"]["key"]
        found = httpx.get(f"{degraded.rest}/conjoin/v1/messages/{key}", timeout=LONGEST_S)
        assert found.status_code == 200, found.text
    listed = httpx.get(f"{degraded.rest}/conjoin/v1/messages", timeout=LONGEST_S)
    assert listed.status_code == 200, listed.text


def test_the_damaged_shard_answers_with_what_to_do(degraded: ServingProcess) -> None:
    answer = publish(degraded, KEYS[BROKEN])
    assert answer.status_code == 503
    assert answer.json()["title"] == "UNAVAILABLE"
    assert f"shard-{BROKEN:02}.db is damaged" in answer.json()["detail"]
    assert "restore the store from a backup with conjoin store restore" in answer.json()["detail"]


def test_health_is_down_and_names_the_shard(degraded: ServingProcess) -> None:
    def is_down() -> bool:
        answer = httpx.get(f"{degraded.rest}/health/ready", timeout=LONGEST_S)
        return answer.status_code == 503 and f"shard-{BROKEN:02}.db is damaged" in answer.text

    eventually(is_down)
    assert httpx.get(f"{degraded.rest}/health/live", timeout=LONGEST_S).status_code == 200


def test_timers_of_the_other_shards_fire_and_their_jobs_are_handed_out(degraded: ServingProcess) -> None:
    def create() -> bool:
        said = {"processDefinitionId": "reminder"}
        return httpx.post(f"{degraded.rest}/v2/process-instances", json=said, timeout=LONGEST_S).status_code == 200

    created = sum(create() for _ in range(12))
    assert created >= 3, "they are placed round about"
    activated = 0

    def activate() -> bool:
        nonlocal activated
        wanted = {"type": "remind", "maxJobsToActivate": 50, "timeout": 60_000, "requestTimeout": -1}
        answer = httpx.post(f"{degraded.rest}/v2/jobs/activation", json=wanted, timeout=LONGEST_S)
        assert answer.status_code == 200, answer.text
        activated += len(answer.json()["jobs"])
        return activated >= created

    eventually(activate)


def test_metrics_and_topology_still_answer(degraded: ServingProcess) -> None:
    for path in ("/metrics", "/v2/topology", "/"):
        assert httpx.get(f"{degraded.rest}{path}", timeout=LONGEST_S, follow_redirects=True).status_code == 200


def test_the_overview_counts_the_others_and_names_the_shard_that_needs_attention(degraded: ServingProcess) -> None:
    def is_told() -> bool:
        answer = httpx.get(f"{degraded.rest}/", timeout=LONGEST_S, follow_redirects=True)
        assert answer.status_code == 200
        return f"shard-{BROKEN:02}.db" in answer.text and "Counting" not in answer.text

    eventually(is_told)


@pytest.mark.parametrize("arguments", ["status", "verify", "backup copy", "tick"])
def test_commands_that_need_all_shards_name_the_one_that_is_damaged(arguments: str, tmp_path: Path) -> None:
    """Control: a server goes on with the others, a command that needs them all does not."""
    make(tmp_path / "store")
    damage(tmp_path / "store" / f"shard-{BROKEN:02}.db")
    said = command(tmp_path / "store", *arguments.split(), "--data", "store")
    assert said.returncode == 2
    assert f"shard-{BROKEN:02}.db is damaged" in said.stderr
    assert "Traceback" not in said.stderr


def test_a_store_none_of_whose_shards_can_be_read_is_not_served(tmp_path: Path) -> None:
    """Control: there is nothing to go on with."""
    make(tmp_path / "store", 2)
    for file in (tmp_path / "store").glob("shard-*.db"):
        damage(file)
    said = command(tmp_path / "store", "serve", "--data", "store", "--rest-port", "0", "--grpc-port", "0")
    assert said.returncode == 2
    assert re.match(r"conjoin: store/shard-0\d.db is damaged", said.stderr.splitlines()[-1])


@pytest.mark.parametrize("arguments", ["reshard --shards 2 --out other", "restore backup"])
def test_what_needs_the_store_alone_waits_for_the_end_of_the_server_however_it_ends(
    arguments: str, tmp_path: Path
) -> None:
    for name in ("store", "backup"):
        create_broker(tmp_path / name, 1).close()
    served = ServingProcess(tmp_path / "store")
    try:
        said = command(tmp_path / "store", *arguments.split(), "--data", "store")
        assert said.returncode == 2
        assert "store is in use by conjoin serve (process " in said.stderr
        assert command(tmp_path / "store", "status", "--data", "store").returncode == 0
    finally:
        served.kill()
    assert command(tmp_path / "store", *arguments.split(), "--data", "store").returncode == 0


def test_a_change_of_a_policy_that_a_model_does_not_stand_bricks_no_store(tmp_path: Path) -> None:
    """A model that correlates by business keys, and a policy that wants another key."""
    (tmp_path / "conjoin.toml").write_text('profile = "correlate"\n')
    keyless = model(BEGIN + catch("paid") + END, "begin>paid paid>end", '<message id="paid_message" name="paid"/>')

    def works(http: httpx.Client) -> None:
        http.post("/v2/process-instances", json={"processDefinitionId": "order"}).raise_for_status()
        http.post("/conjoin/v1/messages", json={"name": "other", "key": "k", "ttl": "1h"}).raise_for_status()
        http.put("/conjoin/v1/policies/other", json={"dedup": "7d"}).raise_for_status()

    for is_first in (True, False):
        with serving(tmp_path / "store") as served, httpx.Client(base_url=served.rest, timeout=LONGEST_S) as http:
            if is_first:
                http.post("/v2/deployments", files={"resources": ("a.bpmn", keyless)}).raise_for_status()
                assert http.put("/conjoin/v1/policies/paid", json={"match": "key"}).status_code in (200, 400)
            works(http)
    assert command(tmp_path / "store", "status", "--data", "store").returncode == 0


@pytest.mark.parametrize("arguments", [["serve", "--rest-port", "0", "--grpc-port", "0"], ["status"], ["init"]])
def test_a_data_path_that_is_a_file_is_one_sentence(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "store").write_text("mine")
    said = command(tmp_path / "store", *arguments, "--data", "store")
    assert said.returncode == 2
    assert "Traceback" not in said.stderr
    assert "store: this is a file, and a store needs a folder" in said.stderr
    assert (tmp_path / "store").read_text() == "mine"


def test_two_servers_on_one_folder_both_take_messages(tmp_path: Path) -> None:
    """Control: the lock that keeps `reshard` out lets them in."""
    with serving(tmp_path / "store") as one, serving(tmp_path / "store") as other:
        for number, served in enumerate((one, other) * 3):
            assert publish(served, f"k-{number}").status_code == 200
