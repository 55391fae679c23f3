"""Whoever changes a source runs it: what was compiled of it before is left alone."""

import copy
import json
import os
import pickle
import subprocess
import sys
from importlib.util import source_hash
from pathlib import Path

import pytest

from conjoin import compiled
from conjoin.kernel.correlation import Message
from conjoin.kernel.correlation.commands import PublishMessage
from conjoin.kernel.policies import PROFILES
from conjoin.kernel.process.commands import ForKey

HOW = "import conjoin; print(conjoin.runs_as); from conjoin.kernel import keys; print(keys.__file__)"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With one source, of which a module was compiled."""
    folder = tmp_path / "_compiled" / compiled.ABI
    folder.mkdir(parents=True)
    (tmp_path / "keys.py").write_bytes(b"A = 1\n")
    manifest = {"sources": {"keys.py": source_hash(b"A = 1\n").hex()}}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    monkeypatch.setattr(compiled, "_PACKAGE", tmp_path)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.delenv("CONJOIN_PURE", raising=False)
    return tmp_path


def test_what_was_compiled_of_these_sources_is_used(package: Path) -> None:
    before = len(sys.meta_path)
    assert compiled.use() == "compiled"
    assert len(sys.meta_path) == before + 1


def test_a_source_that_was_changed_since_runs_itself(package: Path) -> None:
    before = len(sys.meta_path)
    (package / "keys.py").write_bytes(b"A = 2\n")
    assert compiled.use() == "pure Python: the compiled modules are older than the sources"
    assert len(sys.meta_path) == before


def test_without_one_of_its_sources_nothing_compiled_is_used(package: Path) -> None:
    (package / "keys.py").unlink()
    assert compiled.use() == "pure Python"


def test_what_was_compiled_for_another_python_is_not_seen(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "ABI", "cpython-27")
    assert compiled.use() == "pure Python"


def test_the_source_runs_where_the_environment_says_so() -> None:
    environment = {**os.environ, "CONJOIN_PURE": "1"}
    said = subprocess.run([sys.executable, "-c", HOW], env=environment, capture_output=True, text=True, check=True)
    how, file = said.stdout.split("\n")[:2]
    assert how == "pure Python"
    assert file.endswith("keys.py")


def test_records_come_back_from_another_process_as_they_were() -> None:
    message = Message(1, "paid", 2, 3, PROFILES["correlate"], payload={"a": [1]})
    message.sync, message.marks = True, ("order",)
    sent = ForKey("t", "k", PublishMessage(message, 5))
    for made in (pickle.loads(pickle.dumps(sent)), copy.deepcopy(sent)):
        its = made.command.message
        assert (made.tenant_id, made.command.at, its.key, its.payload) == ("t", 5, 1, {"a": [1]})
        assert (its.sync, its.marks, its.policy) == (True, ("order",), PROFILES["correlate"])
