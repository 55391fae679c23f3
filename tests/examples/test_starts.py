"""The starts of README are files that run: the code that it shows is theirs, and so is what it says they print."""

import runpy
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from examples.order_to_cash.__main__ import NEXT
from examples.your_model.test_order import test_a_payment_that_comes_early_is_kept_for_its_order
from tests.docs.pages import README, blocks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["test_a_payment_that_comes_early_is_kept_for_its_order"]

ROOT = Path(__file__).parents[2]
MODEL, TABLES = ROOT / "examples/your_model/test_order.py", ROOT / "examples/tables/__main__.py"


@pytest.mark.parametrize("file", [MODEL, TABLES], ids=lambda file: file.parent.name)
def test_readme_shows_the_file(file: Path) -> None:
    assert ("python run", file.read_text(encoding="utf-8")) in blocks(README)


def test_tables_print_what_readme_shows(
    spark: "SparkSession", capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    runpy.run_path(str(TABLES), run_name="__main__")
    assert ("text output", capsys.readouterr().out) in blocks(README)


def test_make_run_names_what_is_there() -> None:
    assert "pytest examples/your_model" in NEXT
    assert "python -m examples.tables" in NEXT
