"""One shop and one Chromium for all tests of the console; without Chromium they are skipped, and say how to get it."""

import shutil
from collections.abc import Iterator

import pytest

from tests.console.demo_server import DemoServer
from tests.console.server import ConsoleServer
from tests.console.story import tell

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make setup brings it")

ELSEWHERE = "evil.example"
MOMENTS = (
    *("gateway.queries.store.WITHIN_S", "console.pages.messages._A_LOOK_S"),
    *("console.pages.instances._FIRST_LOOK_S", "console.figures._PATIENCE_S"),
)


@pytest.fixture(scope="package", autouse=True)
def patient() -> Iterator[None]:
    """Pages show what they found in a moment; on a busy machine that would be less than the tests look for."""
    with pytest.MonkeyPatch.context() as patch:
        for moment in MOMENTS:
            patch.setattr(f"conjoin.{moment}", 60.0)
        yield


@pytest.fixture(scope="session")
def shop(seed: int) -> Iterator[ConsoleServer]:
    server = ConsoleServer()
    tell(server, seed)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def demo() -> Iterator[DemoServer]:
    server = DemoServer()
    yield server
    server.stop()


@pytest.fixture(scope="package")
def chromium() -> Iterator["playwright.Browser"]:
    """Only while tests of the console run: until it ends, Playwright's event loop counts as running in this thread, and
    tests of other folders could run none of their own.
    """
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("there is no Chromium: scripts/setup-chromium installs Debian's")
    with playwright.sync_playwright() as started:
        # A name of somebody else's that leads here, as an attacker's would.
        elsewhere = f"--host-resolver-rules=MAP {ELSEWHERE} 127.0.0.1"
        browser = started.chromium.launch(executable_path=path, args=["--no-sandbox", elsewhere])
        yield browser
        browser.close()


class Watched:
    """What a page asks for and complains about: nothing may leave the machine, and nothing may go wrong unseen."""

    def __init__(self, page: "playwright.Page") -> None:
        self.asked: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.asked.append(request.url))
        page.on(
            "console", lambda said: self.complaints.append(said.text) if said.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))


@pytest.fixture
def page(chromium: "playwright.Browser") -> Iterator["playwright.Page"]:
    """It must stay at home, and be content."""
    context = chromium.new_context(viewport={"width": 1280, "height": 860})
    context.set_default_timeout(60_000)
    page = context.new_page()
    watched = Watched(page)
    yield page
    context.close()
    assert [url for url in watched.asked if not url.startswith(("http://127.0.0.1:", "data:"))] == []
    assert watched.complaints == []
