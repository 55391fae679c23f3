"""No error, log or banner repeats a secret that settings hold, wherever in a value or a URL it stands."""

from pathlib import Path
from typing import Any

import pytest

from conjoin.cli.printing import shown
from conjoin.errors import ConjoinError, SettingsError
from conjoin.gateway.security.authentication.callers import read_callers, write_callers
from conjoin.gateway.security.configuration import read_security
from conjoin.runtime.inbox.configuration import read_configuration
from conjoin.runtime.notices import Receiver, read_receivers
from conjoin.runtime.notices.sending import Webhook, _without_secrets
from conjoin.settings import load
from conjoin.shown_urls import shown_url

SECRET = "s3cr3t"
URLS = [
    f"postgresql://ada:{SECRET}@db/orders",
    f"postgresql://ada:{SECRET}@db:x/orders?a=b",
    f"postgresql://ada:a/{SECRET}@db/orders",
    f"postgresql://ada:a?{SECRET}@db/orders",
    f"postgresql://ada:a#{SECRET}@db/orders",
    f"postgresql://ada:a@{SECRET}@db/orders",
    f"postgresql://db/orders?password={SECRET}",
    f"postgresql://db/orders?user=a@b&password=x@{SECRET}",
    f"postgresql://ada:%zz{SECRET}@db/orders",
    f"postgresql://db/orders?{SECRET}",
]


@pytest.mark.parametrize("url", URLS)
def test_url_is_shown_without_its_secrets(url: str) -> None:
    for text in (shown(url), shown_url(url), shown_url(url.replace("postgresql", "https"))):
        assert SECRET not in text
        assert text.partition("://")[0] in ("postgresql", "https")


def test_what_is_no_secret_is_shown() -> None:
    assert shown_url("postgresql://ada:x@db:5432/orders") == "postgresql://ada@db:5432/orders"
    assert shown_url("https://ops.example/hook") == "https://ops.example/hook"
    assert shown_url("not a url") == "not a url"


@pytest.mark.parametrize("url", URLS)
def test_store_that_cannot_be_opened_does_not_tell_its_password(url: str) -> None:
    psycopg = pytest.importorskip("psycopg")
    from conjoin.store.postgres.connections import place

    try:
        text = place(url)
    except ConjoinError as error:
        text = str(error)
    except psycopg.Error as error:
        pytest.fail(f"not ours: {type(error)}")
    assert SECRET not in text


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("CONJOIN_NOTIFY", f'["sasl.password={SECRET}"]'),
        ("CONJOIN_NOTIFY", f'"{SECRET}"'),
        ("CONJOIN_NOTIFY", f'{{"a": "{SECRET}"'),
        ("CONJOIN_INBOX", f'["{SECRET}"]'),
        ("CONJOIN_SECURITY", f'[{{"key": "{SECRET}"}}]'),
        ("CONJOIN_SERVER", f'"{SECRET}"'),
        ("CONJOIN_STORE", f"mysql://ada:{SECRET}@db/orders"),
        ("CONJOIN_STORE", f"ada:{SECRET}@db"),
        ("CONJOIN_DATA", ""),
    ],
)
def test_settings_that_cannot_be_do_not_repeat_secrets(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str, value: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(variable, value)
    if not value:
        load()
        return
    with pytest.raises(SettingsError) as refused:
        load()
    assert SECRET not in str(refused.value)
    assert variable in str(refused.value) or "environment" in str(refused.value)


def _traces(section: dict[str, Any]) -> Any:
    return load(**section)


@pytest.mark.parametrize(
    ("read", "section"),
    [
        (read_receivers, {"*": f"htps://ada:{SECRET}@ops.example"}),
        (read_receivers, {"*": {"url": [SECRET]}}),
        (read_receivers, {"*": f"https://ada:{SECRET}@ops.example:port/"}),
        (read_receivers, {"*": {"url": "kafka://b:1/t", "properties": SECRET}}),
        (_traces, {"traces": f"grpc://ada:{SECRET}@otel"}),
        (_traces, {"traces": [SECRET]}),
        (read_security, {"callers": "c", "oidc": {"issuer": "i", "audience": "a", "jwks": f"http://u:{SECRET}@h"}}),
        (read_security, {"callers": [SECRET]}),
        (lambda section: read_configuration(section, {}), {"targets": f"https://ada:{SECRET}@h"}),
        (lambda section: read_configuration(section, {}), {"targets": {"a": f"https://ada:{SECRET}@h"}}),
        (
            lambda section: read_configuration(section, {}),
            {"targets": {"a": {"kind": "camunda8", "url": f"https://u:{SECRET}@h"}}},
        ),
    ],
)
def test_sections_that_cannot_be_do_not_repeat_secrets(read: Any, section: dict[str, Any]) -> None:
    with pytest.raises(SettingsError) as refused:
        read(section)
    assert SECRET not in str(refused.value)


def test_receiver_that_fails_says_nothing_of_its_secrets() -> None:
    assert SECRET not in Webhook(f"http://ada:{SECRET}@127.0.0.1:1/hook/{SECRET}").send("1", b"{}")
    assert SECRET not in Webhook(f"http://127.0.0.1:1/hook/ {SECRET}").send("1", b"{}")
    topic = Receiver("*", "kafka://b/t", properties={"sasl.password": SECRET})
    assert _without_secrets(f'Invalid value "{SECRET}"', topic) == 'Invalid value "(hidden)"'


def test_callers_are_written_to_a_file_that_nobody_else_has_made(tmp_path: Path) -> None:
    path, elsewhere = tmp_path / "callers.json", tmp_path / "elsewhere"
    (tmp_path / ".callers.json.new").symlink_to(elsewhere)
    write_callers(path, {})
    assert read_callers(path) == {}
    assert not elsewhere.exists()
    assert {it.name for it in tmp_path.iterdir()} == {"callers.json", ".callers.json.new"}
