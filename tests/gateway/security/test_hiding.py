"""Variables that are hidden by their names are shown to nobody, on no page and in no answer; workers get them."""

import json
from pathlib import Path

from conjoin.runtime.hiding import Hiding
from tests.gateway.grpc_client import HOUR_MS
from tests.gateway.models import with_job
from tests.gateway.security.secured import secured

SECRETS = {"card": "SECRET-1", "customer": [{"Password2": {"old": "SECRET-2"}, "name": "Anna"}], "amount": 40}


def test_names_are_hidden_at_any_depth_and_nothing_else_is() -> None:
    hidden = {"card": "(hidden)", "customer": [{"Password2": "(hidden)", "name": "Anna"}], "amount": 40}
    assert Hiding(["card", "*password*"]).of(SECRETS) == hidden
    assert Hiding().of(SECRETS) is SECRETS


def test_no_answer_and_no_page_shows_what_is_hidden(tmp_path: Path) -> None:
    server = secured(tmp_path, {}, redact=["card", "*password*"])
    admin = server.calls("admin")
    admin.deploy(with_job("after"))
    text = json.dumps({**SECRETS, "orderId": "o-1"})
    started = admin.CreateProcessInstance(bpmnProcessId="after", version=-1, variables=text).processInstanceKey
    published = admin.PublishMessage(name="m", correlationKey="k", timeToLive=HOUR_MS, variables=text).key
    with server.http("admin") as http:
        addresses = [
            *(f"/conjoin/v1/messages/{published}", f"/conjoin/v1/messages/{published}/explain"),
            *("/conjoin/v1/messages", f"/console/messages/{published}", f"/console/send?name=n&like={published}"),
            *(f"/console/instances/{started}", "/console/messages?variables=amount+=+40"),
        ]
        pages = [http.get(address).raise_for_status().text for address in addresses]
        pages.append(http.post("/v2/variables/search", json={}).raise_for_status().text)
        looked_for = http.get("/console/messages?variables=card+=+SECRET-1")
    assert not any("SECRET" in page for page in pages)
    assert sum("(hidden)" in page for page in pages) >= 5
    assert "write out what is hidden" in pages[4]
    assert looked_for.status_code == 400
    [job] = next(iter(admin.ActivateJobs(type="after", worker="w", timeout=60_000, maxJobsToActivate=1))).jobs
    assert "SECRET-1" in job.variables
    admin.close()
    server.stop()
