"""What pages of other sites try on a server of ours, in a real browser: they change nothing and read nothing."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from tests.console.conftest import ELSEWHERE, playwright
from tests.console.server import ConsoleServer
from tests.gateway.models import with_job

SCRIPT = """<extensionElements><x:script xmlns:x="http://www.w3.org/1999/xhtml"><![CDATA[
fetch('/v2/process-instances/KEY/cancellation', {method: 'POST'})]]></x:script></extensionElements>"""
PAGE = """<!doctype html><iframe name="inside"></iframe>
<form method="post" action="ADDRESS" target="inside" enctype="ENCODING"><input name="a" value="b"></form>
<script>document.forms[0].submit()</script>"""


class Site:
    """Another port of this machine, with one page."""

    def __init__(self) -> None:
        self.page = ""
        site = self

        class Answering(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(site.page.encode())

            def log_message(self, *said: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
        self.url = f"http://127.0.0.1:{self._server.server_port}/"
        Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    yield site
    site.stop()


@pytest.fixture
def tab(chromium: Any) -> Iterator[Any]:
    """One that may complain: browsers do when they are told no."""
    context = chromium.new_context()
    context.set_default_timeout(10_000)
    yield context.new_page()
    context.close()


@pytest.fixture(scope="module")
def instance(shop: ConsoleServer) -> str:
    shop.deploy(with_job("victim"), "victim.bpmn")
    return shop.create("victim")


def _is_active(shop: ConsoleServer, instance: str) -> bool:
    return bool(shop.client.get(f"/v2/process-instances/{instance}").json()["state"] == "ACTIVE")


def test_script_in_a_model_does_not_run(shop: ConsoleServer, instance: str, tab: Any) -> None:
    content = with_job("scripted").decode()
    opening = content.index(">", content.index("<process ")) + 1
    content = content[:opening] + SCRIPT.replace("KEY", instance) + content[opening:]
    answer = shop.client.post("/v2/deployments", files={"resources": ("scripted.bpmn", content.encode())}).json()
    key = answer["deployments"][0]["processDefinition"]["processDefinitionKey"]
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    with tab.expect_download(), pytest.raises(playwright.Error):
        tab.goto(f"{shop.rest}/v2/process-definitions/{key}/xml")
    tab.goto(f"{shop.rest}/console/models/{key}/xml")
    tab.goto(f"{shop.rest}/docs")
    assert not [url for url in asked if "cancellation" in url]
    assert _is_active(shop, instance)


@pytest.mark.parametrize("encoding", ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data"])
@pytest.mark.parametrize("path", ["/v2/process-instances/{}/cancellation", "/console/instances/{}/cancel"])
def test_form_of_another_port_changes_nothing(
    shop: ConsoleServer, instance: str, tab: Any, site: Site, path: str, encoding: str
) -> None:
    address = shop.rest + path.format(instance)
    site.page = PAGE.replace("ADDRESS", address).replace("ENCODING", encoding)
    with tab.expect_response(address) as answered:
        tab.goto(site.url)
    assert answered.value.status == 403
    assert _is_active(shop, instance)


def test_script_of_another_port_changes_and_reads_nothing(
    shop: ConsoleServer, instance: str, tab: Any, site: Site
) -> None:
    site.page = "<!doctype html><p>elsewhere"
    tab.goto(site.url)
    fetched = "async ([url, more]) => fetch(url, more).then(it => it.text()).then(() => 'read', () => 'refused')"
    cancelling = f"{shop.rest}/v2/process-instances/{instance}/cancellation"
    for more in ({"method": "POST"}, {"method": "POST", "body": "{}", "headers": {"content-type": "application/json"}}):
        assert tab.evaluate(fetched, [cancelling, more]) == "refused"
    blind = "async url => fetch(url, {method: 'POST', mode: 'no-cors'}).then(() => 1, () => 0)"
    tab.evaluate(blind, cancelling)
    assert tab.evaluate(fetched, [f"{shop.rest}/v2/topology", {}]) == "refused"
    assert _is_active(shop, instance)


def test_another_name_for_this_machine_is_not_answered(shop: ConsoleServer, instance: str, tab: Any) -> None:
    here = f"http://{ELSEWHERE}:{shop.addresses.rest_port}"
    for path in ("/", "/v2/topology", "/console/messages", f"/v2/process-instances/{instance}", "/docs"):
        assert tab.goto(f"{here}{path}").status == 421
    assert _is_active(shop, instance)


def test_pages_cannot_be_framed(shop: ConsoleServer, tab: Any, site: Site) -> None:
    site.page = "<!doctype html>" + "".join(f'<iframe src="{shop.rest}{it}"></iframe>' for it in ("/", "/docs"))
    tab.goto(site.url)
    tab.wait_for_load_state("networkidle")
    assert [it.url for it in tab.frames[1:]] != []
    assert all(it.url.startswith("chrome-error:") for it in tab.frames[1:])


def test_page_to_try_the_interface_works_under_its_own_policy(shop: ConsoleServer, page: Any) -> None:
    page.goto(f"{shop.rest}/docs")
    page.locator('[data-path="/v2/topology"]').click()
    page.get_by_role("button", name="Execute").click()
    playwright.expect(page.locator(".live-responses-table .response-col_status").last).to_have_text("200")
