"""What a session of ours starts faster with: an archive of classes, one compiler of Java, no zip files for workers."""

from pathlib import Path

import pytest

from conjoin.pipeline.correlate.job import TableJob
from conjoin.pipeline.session import class_archive, session
from conjoin.settings import Settings
from conjoin.spark_daemon import path_without_zips


def java_options(more: str = "") -> str:
    return session.options(Settings(), more)["spark.driver.extraJavaOptions"]


def test_java_is_told_of_an_archive_only_if_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(class_archive, "ARCHIVE", tmp_path / "with space" / "classes.jsa")
    assert "SharedArchiveFile" not in java_options()
    class_archive.ARCHIVE.parent.mkdir()
    class_archive.ARCHIVE.write_bytes(b"")
    assert f'"-XX:SharedArchiveFile={class_archive.ARCHIVE}"' in java_options()
    assert java_options(session.FOR_A_SHORT_JOB).endswith(session.FOR_A_SHORT_JOB)


def test_a_job_is_short_when_all_its_files_are_here_and_few(tmp_path: Path) -> None:
    (tmp_path / "folder" / "inside").mkdir(parents=True)
    (tmp_path / "folder" / "inside" / "a.csv").write_text("x" * 100, encoding="utf-8")
    large = tmp_path / "large.csv"
    with large.open("wb") as file:
        file.truncate(64 * 1024 * 1024)

    def is_short(*paths: str) -> bool:
        return TableJob({"messages": paths, "subscriptions": ()}, "out").is_short

    assert is_short(str(tmp_path / "folder"))
    assert not is_short(str(tmp_path / "folder"), str(large))
    assert not is_short("table:messages")
    assert not is_short("s3a://bucket/messages")
    assert not is_short(str(tmp_path / "*.csv"))


def test_workers_read_an_installed_pyspark_and_no_zip_of_it(tmp_path: Path) -> None:
    installed = tmp_path / "site-packages" / "pyspark"
    (installed / "python" / "lib").mkdir(parents=True)
    (installed / "__init__.py").touch()
    zips = [str(installed / "python" / "lib" / name) for name in ("pyspark.zip", "py4j-0.10.9.9-src.zip")]
    mine = str(tmp_path / "my.zip")
    assert path_without_zips([*zips, mine, str(installed.parent)]) == [mine, str(installed.parent)]


def test_a_daemon_that_somebody_has_named_is_his(monkeypatch: pytest.MonkeyPatch) -> None:
    module = "spark.python.daemon.module"
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    assert session.options(Settings())[module] == "conjoin.spark_daemon"
    assert module not in session.options(Settings(master="spark://host:7077"))
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--conf {module}=mine pyspark-shell")
    assert module not in session.options(Settings())


def test_without_an_installed_pyspark_the_zips_stay(tmp_path: Path) -> None:
    path = [str(tmp_path / "pyspark" / "python" / "lib" / "pyspark.zip"), str(tmp_path)]
    assert path_without_zips(path) == path
