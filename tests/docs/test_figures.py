"""The figures of the pages are those of benchmarks/results: nobody types one twice."""

from pathlib import Path

import pytest

from benchmarks.figures import PAGES, with_figures


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_says_what_the_results_say(page: Path) -> None:
    text = page.read_text()
    assert "<!-- figures: " in text
    assert with_figures(text) == text, "python -m benchmarks.figures writes them"
