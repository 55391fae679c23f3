"""A target as a configuration names it: every setting has an effect, and every problem is told at once."""

import sys
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from conjoin.errors import ExtraMissing, SettingsError
from conjoin.kernel.inbox.outcomes import Delivered, Failed, Unanswered
from conjoin.runtime.targets.settings import KINDS, read_target
from tests.runtime.targets import servers
from tests.runtime.targets.messages import message
from tests.runtime.targets.servers import FakeTarget

KEYED = message(correlation_key="k", business_key="b")


def problems(written: dict[str, Any], environment: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(SettingsError) as refused:
        read_target("erp", written, environment or {})
    return refused.value.problems


def delivered(written: dict[str, Any], environment: dict[str, str] | None = None) -> object:
    with closing(read_target("erp", written, environment or {})) as remote:
        return remote.deliver(KEYED)


def test_camunda_7_with_a_user_whose_password_is_in_the_environment(target: FakeTarget) -> None:
    written = {"kind": "camunda7", "url": f"{target.url}/engine-rest", "user": "demo", "password": "$ERP_PASSWORD"}
    assert delivered(written, {"ERP_PASSWORD": "pw"}) == Delivered("correlated", "handed_over")
    (seen,) = target.seen
    assert (seen.path, seen.headers["Authorization"]) == ("/engine-rest/message", "Basic ZGVtbzpwdw==")


def test_camunda_8_with_a_token_and_its_own_time_to_live(target: FakeTarget) -> None:
    target.way = servers.answering(200, '{"messageKey": "1"}')
    written = {"kind": "camunda8", "url": target.url, "token": "t-1", "time_to_live": "PT1H"}
    assert isinstance(delivered(written), Delivered)
    (seen,) = target.seen
    assert seen.headers["Authorization"] == "Bearer t-1"
    assert b'"timeToLive":3600000' in seen.body


def test_camunda_8_that_correlates(target: FakeTarget) -> None:
    delivered({"kind": "camunda8", "url": target.url, "operation": "correlate"})
    assert target.seen[0].path == "/v2/messages/correlation"


def test_signals_and_local_keys_of_camunda_7(target: FakeTarget) -> None:
    written = {"kind": "camunda7", "url": target.url, "signals": ["alarm"], "local_keys": ["item"]}
    with closing(read_target("erp", written, {})) as remote:
        remote.deliver(message(name="alarm"))
        remote.deliver(message(correlation_variables={"item": 1}))
    signal, keyed = target.seen
    assert (signal.path.endswith("/signal"), signal.body) == (True, b'{"name":"alarm","variables":{}}')
    assert b'"localCorrelationKeys"' in keyed.body


def test_time_outs_are_kept(target: FakeTarget) -> None:
    target.way = servers.saying_nothing
    assert isinstance(delivered({"kind": "camunda7", "url": target.url, "answer_timeout": "100ms"}), Unanswered)
    lost = {"kind": "camunda7", "url": servers.nobody_there(), "connect_timeout": "100ms", "calls_in_flight": 1}
    assert isinstance(delivered(lost), Failed)


def test_every_problem_is_told_at_once() -> None:
    written = {
        "kind": "camunda8",
        "url": "host:8080",
        "token": "$MISSING",
        "operation": "send",
        "time_to_live": "soon",
        "calls_in_flight": 0,
        "connect_timeout": "PT9999H",
        "answer_timeot": "3s",
        "signals": ["alarm"],
    }
    assert problems(written) == [
        "targets.erp.url: is not a URL such as http://host:8080/engine-rest",
        "targets.erp.token: there is no variable MISSING in the environment",
        "targets.erp.operation: 'send' is none of publish, correlate",
        "targets.erp.time_to_live: 'soon' is not a duration such as 30s or PT30S, 315,360,000 s at most",
        "targets.erp.calls_in_flight: 0 is not a whole number of at least 1",
        "targets.erp.connect_timeout: 'PT9999H' is not a duration such as 30s or PT30S, 3,600 s at most",
        "targets.erp.answer_timeot: there is no such setting; did you mean 'answer_timeout'?",
        "targets.erp.signals: there is no such setting",
    ]


@pytest.mark.parametrize(
    ("written", "setting"),
    [
        ({"kind": "camunda9"}, "kind"),
        ({}, "kind"),
        ({"url": 7}, "url"),
        ({"signals": "alarm"}, "signals"),
        ({"local_keys": [1]}, "local_keys"),
        ({"calls_in_flight": True}, "calls_in_flight"),
    ],
)
def test_a_value_that_cannot_be_is_named(written: dict[str, Any], setting: str) -> None:
    told = problems({"kind": "camunda7", "url": "http://h", **written} if written else {"url": "http://h"})
    assert told[0].startswith(f"targets.erp.{setting}: ")


@pytest.mark.parametrize(
    ("written", "setting"),
    [
        ({"user": "a", "token": "se-cret"}, "token"),
        ({"password": "se-cret"}, "password"),
        ({"user": "se-cret:a", "password": "b"}, "user"),
        ({"token": "se-cret\nX-Evil: 1"}, "token"),
        ({"token": "se-crét"}, "token"),
    ],
)
def test_credentials_that_cannot_be_sent_are_refused_without_showing_them(
    written: dict[str, Any], setting: str
) -> None:
    (told,) = problems({"kind": "camunda7", "url": "http://h", **written})
    assert told.startswith(f"targets.erp.{setting}: ")
    assert "se-cr" not in told


OAUTH = {"client_id": "conjoin", "client_secret": "$SECRET", "audience": "zeebe", "scope": "all"}


def test_camunda_8_with_a_token_that_is_asked_for(target: FakeTarget) -> None:
    target.way = servers.answering(200, '{"messageKey": "1", "access_token": "t-1"}')
    written = {"kind": "camunda8", "url": target.url, "token_url": f"{target.url}/token", **OAUTH}
    assert isinstance(delivered(written, {"SECRET": "se-cret"}), Delivered)
    asked, seen = target.seen
    assert b"client_secret=se-cret&audience=zeebe&scope=all" in asked.body
    assert seen.headers["Authorization"] == "Bearer t-1"


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ({"client_id": "c"}, ["client_secret: is missing; a token is asked for with", "token_url: is not a URL"]),
        ({**OAUTH, "token_url": "http://h"}, ["client_secret: there is no variable SECRET in the environment"]),
        ({**OAUTH, "client_secret": "se-cret", "token_url": "http://h", "token": "se-cret"}, ["token_url: there is"]),
        ({"ca_file": "/none.pem"}, ["ca_file: cannot be used: No such file"]),
        ({"ca_file": __file__}, ["ca_file: cannot be used: "]),
        ({"certificate": "/none.pem", "certificate_key": "/none.key"}, ["certificate: cannot be used: No such file"]),
        ({"certificate_key": "/none.key"}, ["certificate_key: there is no certificate"]),
        ({"use_proxy": "yes"}, ["use_proxy: is neither true nor false"]),
    ],
)
def test_a_way_to_the_target_that_cannot_be_is_refused(written: dict[str, Any], told: list[str]) -> None:
    found = problems({"kind": "camunda8", "url": "https://h", **written})
    assert len(found) == len(told)
    assert all(problem.startswith(f"targets.erp.{text}") for problem, text in zip(found, told, strict=True)), found
    assert "se-cret" not in str(found)


def test_a_proxy_that_cannot_be_used_is_named_without_its_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "socks5://me:se-cret@proxy:1080")
    monkeypatch.setenv("no_proxy", "")
    [told] = problems({"kind": "camunda8", "url": "https://h", "use_proxy": True})
    assert told.startswith("targets.erp.use_proxy: the proxy that the environment names")
    assert "se-cret" not in told


def test_a_call_needs_a_library_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "conjoin.runtime.targets.connections", raising=False)
    monkeypatch.setitem(sys.modules, "httpcore", None)
    with pytest.raises(ExtraMissing, match=r"needs httpx: pip install 'conjoin\[client\]'"):
        read_target("erp", {"kind": "camunda7", "url": "http://h"}, {})


def test_the_page_on_targets_names_every_setting() -> None:
    page = Path(__file__).parents[3] / "docs/inbox-targets.md"
    told = [line.split(" | ")[0] for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    named = {name.strip("`") for cell in told for name in cell.removeprefix("| ").split(", ")}
    assert named == set(chain.from_iterable(table.model_fields for table in KINDS.values()))
