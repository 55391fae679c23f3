"""The examples of docs/client.md run as they stand, against a server of their own; only its port is another."""

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.server_thread import ServerThread
from tests.testing.order import ORDER

PAGE = Path(__file__).parents[2] / "docs/client.md"
_BLOCK = re.compile(r"^```(python|text) client\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_examples_print_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "order.bpmn").write_bytes(ORDER)
    server = ServerThread()
    try:
        printed, shown = _run(PAGE.read_text(encoding="utf-8").replace("http://127.0.0.1:8080", server.rest))
    finally:
        server.stop()
    assert re.fullmatch(re.escape(shown).replace(re.escape("..."), ".+"), printed), printed


def _run(page: str) -> tuple[str, str]:
    names: dict[str, Any] = {"__name__": "example"}
    printed, shown = io.StringIO(), ""
    for kind, text in _BLOCK.findall(page):
        if kind == "text":
            shown += text
        else:
            with contextlib.redirect_stdout(printed):
                exec(compile(text, PAGE.name, "exec"), names)
    return printed.getvalue(), shown
