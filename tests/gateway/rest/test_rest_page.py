"""The curl lines of docs/rest.md are run as they stand, against a real server; only its port is another."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gateway.rest.conftest import MODELS, Rest, RestThread
from tests.gateway.server_thread import QUICK

PAGE = Path(__file__).parents[3] / "docs/rest.md"
LINES = re.findall(r"^```sh curl\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def server() -> Iterator[RestThread]:
    """Of its own: the lines set the policies of names that the other tests use."""
    server = RestThread(3, QUICK)
    with Rest(base_url=server.rest, timeout=30) as client:
        for content in MODELS:
            client.deploy(content)
    yield server
    server.stop()


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize("lines", LINES)
def test_curl_lines_are_answered(server: RestThread, lines: str) -> None:
    there = lines.replace("localhost:8080", server.rest.removeprefix("http://"))
    ran = subprocess.run(["bash", "-euc", there], capture_output=True, text=True, timeout=30, check=True)
    answers = [json.loads(line) for line in re.sub(r"\}\{", "}\n{", ran.stdout).splitlines()]
    assert answers
    assert not any("status" in answer and "detail" in answer for answer in answers), ran.stdout


def test_page_shows_lines() -> None:
    assert len(LINES) > 5
