"""The pages of the project, and the blocks of code that stand in them."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
DOCS = ROOT / "docs"
PAGES = [README, *(ROOT / f"{name}.md" for name in ("ARCHITECTURE", "CHANGELOG", "CONTRIBUTING", "SECURITY"))]
PAGES += sorted(DOCS.rglob("*.md"))
PAGES += sorted((ROOT / "examples").rglob("*.md"))

BLOCK = re.compile(r"^ *```(?P<info>[^\n`]*)\n(?P<text>.*?)^ *```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[str, str]]:
    """What each fenced block is marked with, and its text."""
    return [(found["info"].strip(), found["text"]) for found in BLOCK.finditer(page.read_text(encoding="utf-8"))]
