"""What a page of another site, a guesser of names and a curious operator try on a served store, and do not get."""

import re
import socket
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from conjoin.gateway.security.authentication.callers import KnownCaller, password_hash, write_callers
from tests.gateway.models import with_job
from tests.gateway.robust.serving import ServingProcess
from tests.gateway.security.certificates import Authority

XSS = b"""<extensionElements><x:script xmlns:x="http://www.w3.org/1999/xhtml">alert(1)</x:script></extensionElements>"""
CHANGES = {
    "form": {"headers": {"content-type": "application/x-www-form-urlencoded"}, "content": b"a=b"},
    "text": {"headers": {"content-type": "text/plain"}, "content": b"{}"},
    "nothing": {},
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServingProcess]:
    folder = tmp_path_factory.mktemp("network")
    (folder / "conjoin.toml").write_text('[server]\nhosts = ["conjoin.example"]\n')
    process = ServingProcess(folder / "store")
    yield process
    assert process.stop() == 0
    assert "Traceback" not in process.complaints


@pytest.fixture(scope="module")
def http(served: ServingProcess) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served.rest, timeout=30) as client:
        yield client


def deploy(http: httpx.Client, content: bytes) -> str:
    answer = http.post("/v2/deployments", files={"resources": ("a.bpmn", content)}).raise_for_status().json()
    return str(answer["deployments"][0]["processDefinition"]["processDefinitionKey"])


def start(http: httpx.Client, process_id: str, **variables: object) -> str:
    body = {"processDefinitionId": process_id, "variables": variables}
    return str(http.post("/v2/process-instances", json=body).raise_for_status().json()["processInstanceKey"])


def is_active(http: httpx.Client, instance: str) -> bool:
    return bool(http.get(f"/v2/process-instances/{instance}").json()["state"] == "ACTIVE")


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("evil.example", 421),
        ("evil.example:8080", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost.evil.example", 421),
        ("xconjoin.example", 421),
        ("", 421),
        ("localhost:9999", 200),
        ("LOCALHOST.", 200),
        ("[::1]:8080", 200),
        ("10.0.0.7", 200),
        ("conjoin.example", 200),
        ("Conjoin.example:443", 200),
    ],
)
def test_only_names_of_the_server_are_answered(http: httpx.Client, host: str, status: int) -> None:
    for path in ("/v2/topology", "/", "/docs", "/openapi.json", "/metrics", "/console/static/console.css"):
        assert http.get(path, headers={"host": host}).status_code in (status, 404 if status == 200 else status), path
    assert http.get("/health/live", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    "said",
    [
        {"origin": "http://evil.example"},
        {"origin": "http://localhost:1"},
        {"origin": "null"},
        {"origin": "http://["},
        {"origin": ""},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "anything"},
        {"origin": "http://evil.example", "sec-fetch-site": "same-origin"},
    ],
)
def test_pages_of_another_origin_change_nothing(http: httpx.Client, said: dict[str, str], change: str) -> None:
    deploy(http, with_job("csrf"))
    instance = start(http, "csrf")
    sent = dict(CHANGES[change])
    headers = {**sent.pop("headers", {}), **said}  # type: ignore[dict-item]
    files = {"resources": ("a.bpmn", with_job("csrf"))}
    assert http.post("/v2/deployments", files=files, headers=said).status_code == 403
    assert http.post("/v2/process-instances/search", json={}, headers=said).status_code == 403
    for path in (f"/v2/process-instances/{instance}/cancellation", f"/console/instances/{instance}/cancel"):
        assert http.post(path, headers=headers, **sent).status_code == 403  # type: ignore[arg-type]
    assert is_active(http, instance)


def test_own_pages_and_programs_may(http: httpx.Client, served: ServingProcess) -> None:
    """Control: what is refused to others stays open to them."""
    deploy(http, with_job("own"))
    cases: list[dict[str, str]] = [
        {},
        {"origin": served.rest, "sec-fetch-site": "same-origin"},
        {"origin": "https://conjoin.example", "host": "localhost"},
        {"sec-fetch-site": "none"},
    ]
    for headers in cases:
        instance = start(http, "own")
        path = f"/v2/process-instances/{instance}/cancellation"
        assert http.post(path, headers=headers).status_code == 204, headers
        assert not is_active(http, instance)


def test_a_form_is_no_json_even_where_no_body_is_read(http: httpx.Client) -> None:
    """Control: another way in, that was closed before."""
    deploy(http, with_job("forms"))
    instance = start(http, "forms")
    sent = http.post(f"/v2/process-instances/{instance}/cancellation", data={"a": "b"})
    assert (sent.status_code, is_active(http, instance)) == (415, True)


def test_model_is_a_file_and_no_page(http: httpx.Client) -> None:
    model = with_job("xss")
    opening = model.index(b">", model.index(b"<process ")) + 1
    key = deploy(http, model[:opening] + XSS + model[opening:])
    answer = http.get(f"/v2/process-definitions/{key}/xml")
    assert XSS in answer.content
    assert answer.headers["content-type"].startswith("text/xml")
    assert answer.headers["content-disposition"].startswith("attachment")
    for found in (answer, http.get(f"/console/models/{key}/xml")):
        assert found.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
        assert found.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "path",
    ["/", "/docs", "/openapi.json", "/metrics", "/health/live", "/v2/topology", "/v2/nothing", "/console/messages/7"],
)
def test_every_answer_says_how_it_may_be_used(http: httpx.Client, path: str) -> None:
    headers = http.get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"
    assert headers["x-request-id"]


def test_bytes_that_are_no_request_are_answered_no_other_way(served: ServingProcess) -> None:
    with socket.create_connection((served.host, served.rest_port), timeout=10) as raw:
        raw.sendall(b"NO HTTP\r\n\r\n")
        assert b"nosniff" in raw.recv(4_096).lower()


PASSWORDS = {"alice": "right-alice", "bob": "right-bob"}


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServingProcess]:
    """Under TLS, with callers; `card` is hidden."""
    folder = tmp_path_factory.mktemp("closed")
    pair = Authority(folder).signed("server")
    callers = {name: KnownCaller(["admin"], password=password_hash(word)) for name, word in PASSWORDS.items()}
    write_callers(folder / "callers.json", callers)
    tls = f'[security.tls]\ncertificate = "{pair.certificate}"\nkey = "{pair.key}"\n'
    section = '[security]\ncallers = "callers.json"\nredact = ["card"]\n'
    (folder / "conjoin.toml").write_text(section + tls)
    process = ServingProcess(folder / "store")
    yield process
    assert process.stop() == 0
    assert "Traceback" not in process.complaints


def as_(server: ServingProcess, name: str, password: str | None = None) -> httpx.Client:
    auth = (name, password or PASSWORDS[name])
    return httpx.Client(base_url=server.rest, auth=auth, timeout=60, verify=False)


def test_parallel_wrong_passwords_are_counted_and_lock_out_nobody(closed: ServingProcess) -> None:
    def guess(number: int) -> int:
        with as_(closed, "alice" if number % 2 else f"nobody{number}", f"wrong{number}") as http:
            return http.get("/v2/topology").status_code

    with ThreadPoolExecutor(80) as pool:
        guesses = [pool.submit(guess, number) for number in range(160)]
        with as_(closed, "bob") as bob:
            assert bob.get("/v2/topology").status_code == 200
        statuses = Counter(guess.result() for guess in guesses)
    assert set(statuses) <= {401, 429}
    assert statuses[429] > 0
    for number in range(20):
        with as_(closed, "alice", f"wrong again {number}") as http:
            slowed = http.get("/v2/topology")
        statuses[slowed.status_code] += 1
        if slowed.status_code == 429:
            break
    assert (slowed.status_code, int(slowed.headers["retry-after"]) >= 1) == (429, True)
    with as_(closed, "bob") as bob:
        figures = bob.get("/metrics").text
    counted = {kind: float(value) for kind, value in re.findall(r'auth_failures_total{kind="(\w+)"} (\S+)', figures)}
    assert counted["password"] == statuses[401]
    assert counted["slowed"] == statuses[429]
    assert "wrong password for 'alice' from 127.0.0.1" in closed.complaints
    assert not any(word in closed.complaints for word in ("wrong1", "nobody", *PASSWORDS.values()))


def test_hidden_variables_cannot_be_guessed(closed: ServingProcess) -> None:
    with as_(closed, "bob") as http:
        deploy(http, with_job("oracle"))
        start(http, "oracle", card="41119999", customer={"card": "41119999"})
        for name, right, wrong in (("card", '"4111*', '"4222*'), ("customer", "*41119*", "*42229*")):
            found = [
                http.post(
                    "/v2/process-instances/search",
                    json={"filter": {"variables": [{"name": name, "value": {"$like": like}}]}},
                ).json()
                for like in (right, wrong)
            ]
            assert found[0] == found[1], name
        message = {"name": "m", "key": "k", "ttl": "1h", "variables": {"customer": {"card": "41119999"}}}
        key = http.post("/conjoin/v1/messages", json=message).json()["message"]["key"]
        page = http.get("/console/messages", params={"variables": 'customer = {"card":"41119999"}'}).text
        assert f"/console/messages/{key}" not in page


def test_cookies_under_tls_are_sent_nowhere_else(closed: ServingProcess) -> None:
    with as_(closed, "bob") as http:
        page = http.get("/")
        [cookie] = page.headers.get_list("set-cookie")
        assert cookie.startswith("__Host-")
        assert {"secure", "httponly", "samesite=strict", "path=/"} <= {it.strip().lower() for it in cookie.split(";")}
        assert page.headers["strict-transport-security"].startswith("max-age=")
        found = re.search(r'name="token" value="([^"]+)"', http.get("/console/send").text)
        assert found is not None
        form = {"token": found[1], "name": "m", "key": "k"}
        origin = closed.rest
        assert http.post("/console/send", data=form, headers={"origin": origin}).status_code == 303
        plain = origin.replace("https", "http")
        assert http.post("/console/send", data=form, headers={"origin": plain}).status_code == 403
