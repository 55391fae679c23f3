"""The demo in the console: verdicts lead to their lists, and two versions of a model stand side by side."""

from typing import Any

from conjoin.kernel.verdicts.verdicts import REASONS
from tests.console.demo_server import DemoServer
from tests.console.test_screenshots import pages


def page_of(verdict: str, demo: DemoServer) -> str:
    """Where it is to be seen; `failed` is said of a single attempt."""
    if verdict == "failed":
        return pages(demo)["inbox-message"]
    return "/console/inbox" if verdict in ("waiting", "parked") else f"/console/messages?verdict={verdict}"


def test_every_kind_of_verdict_is_on_a_page(demo: DemoServer) -> None:
    for verdict in REASONS:
        shown = demo.client.get(page_of(verdict, demo)).text
        assert f"k-{verdict}" in shown.partition("<main")[2], f"{verdict} is not on {page_of(verdict, demo)}"


def test_versions_stand_side_by_side_each_with_its_own_waits(demo: DemoServer, page: Any) -> None:
    alone = pages(demo)["model"]
    page.goto(demo.rest + alone)
    page.get_by_role("link", name="Compare versions").click()
    for number in (1, 2):
        page.get_by_role("heading", name=f"Version {number}", exact=True).wait_for()
    for diagram in page.locator("[data-diagram]").all():
        diagram.and_(page.locator("[data-drawn]")).wait_for()
    assert "only here: Large order?, Approve order, Order called off" in page.locator("main").inner_text()
    old, new = (page.get_by_role("region", name=f"Waiting in version {number}").inner_text() for number in (1, 2))
    assert "Money collected" in old
    assert "Order called off" in new
    assert "Order called off" not in old
    page.get_by_role("region", name="Version 1", exact=True).get_by_role("link").first.click()
    assert "version=1" in page.url
    assert page.get_by_role("row").count() > 1


def test_version_that_there_is_not_is_told(demo: DemoServer) -> None:
    alone = pages(demo)["model"]
    for version in ("7", "x", "2"):
        answer = demo.client.get(alone, params={"with": version})
        assert (answer.status_code, "has no other version" in answer.text) == (404, True)
