"""The section [security], and the commands around it: what is wrong is told before anything listens."""

import json
from pathlib import Path
from typing import Any

import pytest

from conjoin.errors import SettingsError
from conjoin.gateway.security.authentication.callers import id_of_token, is_password, is_token, read_callers
from conjoin.gateway.security.configuration import read_security
from tests.cli.command import Command
from tests.gateway.security.certificates import Authority

OIDC = {"issuer": "https://i", "audience": "a", "jwks": "https://i/keys"}


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ({"token": "x"}, ["token: there is no such setting"]),
        (
            {"caller": "c.json", "oidc": {**OIDC, "issuer": 7, "tokens": "x"}, "tls": {"key": "k.pem"}},
            [
                "caller: there is no such setting; did you mean 'callers'?",
                "oidc.issuer: is not a text",
                "oidc.tokens: there is no such setting",
                "tls.certificate: is missing",
            ],
        ),
        ({"callers": "c.json", "roles": {"r": {"actions": ["fly"]}}}, ["roles.r.actions: 'fly' is none of publish,"]),
        ({"roles": {"r": {"actions": ["read"]}}}, ["roles: nobody can have one without callers or oidc"]),
        (
            {"callers": "c.json", "roles": {"r": {"actions": ["work"], "processes": ["order"]}}},
            ["roles.r: jobs are handed out by type, so work is limited by jobs and tenants"],
        ),
        (
            {"oidc": {**OIDC, "jwks": "http://i/keys", "algorithms": ["HS256", "none"]}},
            [
                "oidc.algorithms: 'HS256' is none of",
                "oidc.algorithms: 'none' is none of",
                "oidc.jwks = 'http://i/keys'",
            ],
        ),
        ({"audit": "/nowhere/audit.jsonl"}, ["audit = '/nowhere/audit.jsonl': cannot be written"]),
    ],
)
def test_everything_that_is_wrong_is_told_at_once(section: dict[str, Any], expected: list[str]) -> None:
    with pytest.raises(SettingsError) as raised:
        read_security(section)
    assert len(raised.value.problems) == len(expected)
    for problem, beginning in zip(raised.value.problems, expected, strict=True):
        assert problem.startswith(beginning)


def test_only_tls_and_callers_together_close_the_door(tmp_path: Path) -> None:
    pair = Authority(tmp_path).signed("server")
    tls = {"certificate": str(pair.certificate), "key": str(pair.key)}
    callers = {"callers": str(tmp_path / "callers.json")}
    closed = {name: read_security(it).is_closed for name, it in {"no": {}, "tls": {"tls": tls}, "who": callers}.items()}
    assert closed == {"no": False, "tls": False, "who": False}
    assert read_security({"tls": tls, **callers}).is_closed


def test_token_is_printed_once_and_only_its_hash_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("conjoin.toml").write_text('[security]\ncallers = "who.json"\n')
    command = Command(capsys)
    told = command.json("tokens add billing --role publisher --role reader")
    token = told["token"]
    [(name, known)] = read_callers(Path("who.json")).items()
    id_, _, kept = str(known.token).partition(":")
    assert (name, known.roles, id_) == ("billing", ["publisher", "reader"], id_of_token(token))
    assert is_token(token, kept)
    assert token not in Path("who.json").read_text()
    assert token.split("_", 2)[2] not in Path("who.json").read_text()
    assert command.tells("tokens list").startswith("billing: publisher, reader (token, ")
    assert "who.json: billing has the role 'publisher', and there are admin" in command.cannot("serve --rest-port 0")
    assert command.tells("tokens remove billing") == "billing may not call any more"
    assert json.loads(Path("who.json").read_text()) == {}
    assert "has no caller called 'billing'" in command.cannot("tokens remove billing")


def test_password_is_asked_for_and_a_short_one_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    command, typed = Command(capsys), iter(["short", "long enough for anybody"])
    monkeypatch.setattr("typer.prompt", lambda text, hide_input, confirmation_prompt: next(typed))
    assert "at least 12 characters" in command.cannot("tokens add alice --role admin --password")
    assert not Path("callers.json").exists()
    assert command.tells("tokens add alice --role admin --password") == "alice (admin) has a password"
    kept = str(read_callers(Path("callers.json"))["alice"].password)
    assert (is_password("long enough for anybody", kept), is_password("another", kept)) == (True, False)
