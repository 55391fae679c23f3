"""Disks that are full, may only be read, or fail at their sync, under a served store: what is told is what happened."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from tests.gateway.robust.attacks.test_stores import LONGEST_S, command, eventually, make, publish, serving
from tests.gateway.robust.failing_sync import VARIABLE
from tests.gateway.robust.serving import ServingProcess


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own with little room; whoever may not mount one skips this."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", str(folder)], check=False)
    if mounted.returncode:
        pytest.skip("no right to mount a file system")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(filler: Path) -> None:
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(b"x" * 4096):
            pass


def test_a_file_whose_publishing_a_full_disk_cut_short_is_not_doubled_by_a_retry(small_disk: Path) -> None:
    store, filler = small_disk / "store", small_disk / "filler"
    make(store, 2)
    line = '{{"name":"paid","key":"k-{}","ttl":"1h","variables":{{"text":"{}"}}}}\n'
    (small_disk.parent / "lines.jsonl").write_text("".join(line.format(n, "x" * 500) for n in range(4_000)))
    fill(filler)
    os.truncate(filler, filler.stat().st_size - 1_500_000)
    publish_lines = ("publish", "--file", str(small_disk.parent / "lines.jsonl"), "--data", str(store))
    cut_short = command(small_disk, *publish_lines)
    assert cut_short.returncode == 2
    filler.unlink()
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    said = command(small_disk, *publish_lines)
    assert said.returncode == 0, said.stderr
    told = command(small_disk, "status", "--data", str(store), "--json")
    assert json.loads(told.stdout)["open"]["buffered"] == 4_000, told.stdout
    assert "Traceback" not in cut_short.stderr
    assert "the disk is full" in cut_short.stderr
    assert "go on with: " in cut_short.stderr


def test_a_full_disk_loses_nothing_and_the_server_recovers_by_itself(small_disk: Path) -> None:
    store = small_disk / "store"
    make(store, 2)
    filler = small_disk / "filler"
    with serving(store) as served:
        taken = []
        fill(filler)

        def is_full() -> bool:
            number = f"n-{len(taken)}"
            answer = publish(served, number, variables={"text": "x" * 20_000})
            if answer.status_code == 200:
                taken.append(number)
                return False
            assert answer.status_code == 503, answer.text
            assert "the disk is full, and nothing of this was written" in answer.json()["detail"]
            return True

        eventually(is_full)
        assert httpx.get(f"{served.rest}/health/live", timeout=LONGEST_S).status_code == 200
        filler.unlink()
        eventually(lambda: publish(served, "after").status_code == 200)
        eventually(lambda: httpx.get(f"{served.rest}/health/ready", timeout=LONGEST_S).status_code == 200)
        listed = httpx.get(f"{served.rest}/conjoin/v1/messages", params={"limit": 1_000}, timeout=LONGEST_S)
        found = sorted(
            item["correlationKey"] if "correlationKey" in item else item["key"] for item in listed.json()["items"]
        )
        assert len(found) >= len(taken) + 1
    said = command(store, "verify", "--data", str(store))
    assert said.returncode == 0, said.stderr


def test_a_disk_that_may_only_be_read_is_one_sentence(small_disk: Path) -> None:
    make(small_disk / "store", 2)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    for arguments in (["publish", "paid"], ["status"], ["serve", "--rest-port", "0", "--grpc-port", "0"]):
        said = command(small_disk, *arguments, "--data", str(small_disk / "store"))
        assert said.returncode == 2
        assert said.stderr.splitlines()[-1].endswith("let this user write the file and its folder")
        assert "Traceback" not in said.stderr


@pytest.mark.parametrize("failures", [1, 2])
def test_a_commit_whose_sync_fails_is_told_as_done_or_as_not_known(
    failures: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is there: whoever is told to try again has it twice."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "failures"))
    make(tmp_path / "store", 1)
    served = ServingProcess(tmp_path / "store", ("-m", "tests.gateway.robust.failing_sync"))
    try:
        (tmp_path / "failures").write_text(str(failures))
        told = publish(served, "k-1")
        (tmp_path / "failures").unlink()
        if failures == 1:
            assert told.status_code == 200, told.text
        else:
            assert "not known: look before you do it again" in told.json()["detail"]
        listed = httpx.get(f"{served.rest}/conjoin/v1/messages", timeout=LONGEST_S).json()["items"]
        assert len(listed) == 1
        assert publish(served, "k-2").status_code == 200
    finally:
        served.kill()
