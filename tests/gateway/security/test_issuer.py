"""Tokens of an issuer: only those that it has signed with a key it has now, for us, and that are not over."""

import asyncio
import json
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from conjoin.gateway.security.authentication import issuer as issuer_module
from conjoin.gateway.security.authentication.authenticating import Authenticating
from conjoin.gateway.security.authentication.issuer import Issuer, read_keys
from conjoin.gateway.security.configuration import OidcSettings
from conjoin.gateway.security.grants import EVERYTHING, Caller
from conjoin.runtime.client_api.answers import Refusal

FIRST, SECOND = (rsa.generate_private_key(65537, 2048) for _ in range(2))
CLAIMS = {"iss": "https://issuer", "aud": "conjoin", "sub": "billing", "realm": {"roles": ["admin", "other"]}}


def publish_keys(path: Path, **keys: Any) -> None:
    made = [
        {**json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key())), "kid": id_} for id_, key in keys.items()
    ]
    path.write_text(json.dumps({"keys": made}))


def trusted(keys: Path) -> OidcSettings:
    return OidcSettings(issuer="https://issuer", audience="conjoin", jwks=str(keys), algorithms=("RS256",))


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    publish_keys(tmp_path / "keys.json", first=FIRST)
    return tmp_path / "keys.json"


@pytest.fixture
def authenticating(keys: Path) -> Authenticating:
    issuer = Issuer(trusted(keys))
    return Authenticating({"admin": EVERYTHING}, None, issuer, ("sub", "realm.roles"))


def signed(key: Any = FIRST, algorithm: str = "RS256", id_: str = "first", **claims: Any) -> str:
    said = {"exp": time.time() + 60, **CLAIMS, **claims}
    return jwt.encode({name: value for name, value in said.items() if value is not None}, key, algorithm, {"kid": id_})


def asked(authenticating: Authenticating, *tokens: str) -> list[Caller | Refusal]:
    async def ask() -> list[Caller | Refusal]:
        return [await authenticating.caller({"authorization": f"Bearer {token}"}) for token in tokens]

    return asyncio.run(ask())


def test_caller_has_the_name_and_those_roles_of_the_token_that_are_ours(authenticating: Authenticating) -> None:
    assert asked(authenticating, *[signed()] * 2) == [Caller("billing", (EVERYTHING,))] * 2


def test_token_that_is_not_for_us_from_them_or_now_is_refused(authenticating: Authenticating) -> None:
    public = FIRST.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    wrong = {
        "over": signed(exp=time.time() - 60),
        "not yet": signed(nbf=time.time() + 600),
        "for ever": signed(exp=None),
        "for others": signed(aud="others"),
        "for nobody": signed(aud=None),
        "from others": signed(iss="https://others"),
        "of another key": signed(SECOND),
        "of a key that is not known": signed(SECOND, id_="second"),
        "without a name": signed(sub=None),
        "with another algorithm of the same key": signed(algorithm="RS512"),
        "not signed": jwt.encode({**CLAIMS, "exp": time.time() + 60}, None, "none", {"kid": "first"}),
        "signed with what everybody knows": _by_hand(public),
        "no token": "a.b.c",
    }
    answers = dict(zip(wrong, asked(authenticating, *wrong.values()), strict=True))
    assert {name for name, answer in answers.items() if not isinstance(answer, Refusal)} == set()


def _by_hand(public: bytes) -> str:
    """HS256 with the public key as the secret; the library would not sign so."""
    import base64
    import hashlib
    import hmac

    def part(raw: bytes) -> str:
        return base64.urlsafe_b64encode(raw).decode().rstrip("=")

    said = {**CLAIMS, "exp": time.time() + 60}
    head = part(json.dumps({"alg": "HS256", "kid": "first"}).encode()) + "." + part(json.dumps(said).encode())
    return f"{head}.{part(hmac.new(public, head.encode(), hashlib.sha256).digest())}"


def test_issuer_changes_its_keys_and_nobody_makes_us_look_too_often(
    authenticating: Authenticating, keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = 0
    read = issuer_module.read_keys

    def counted(where: str) -> Mapping[str, Any]:
        nonlocal looked
        looked += 1
        return read(where)

    issuer = Issuer(trusted(keys), counted)
    both = Authenticating({"admin": EVERYTHING}, None, issuer, ("sub", "roles"))
    newer = signed(SECOND, id_="second")
    assert isinstance(asked(both, signed())[0], Caller)
    publish_keys(keys, second=SECOND)
    assert all(isinstance(it, Refusal) for it in asked(both, *[newer] * 20))
    assert looked == 1
    monkeypatch.setattr(issuer_module, "_AGAIN_AFTER_S", 0.0)
    assert isinstance(asked(both, newer)[0], Caller)
    assert isinstance(asked(both, signed(jti="another"))[0], Refusal)
    keys.unlink()
    assert isinstance(asked(both, signed(SECOND, id_="second", jti="third"))[0], Caller)


def test_issuer_whose_keys_were_never_read_is_no_reason_to_let_anybody_in(
    authenticating: Authenticating, keys: Path
) -> None:
    keys.write_text("{}")
    assert asked(authenticating, signed())[0].code == "UNAVAILABLE"


def test_keys_are_read_from_the_very_address_that_is_named() -> None:
    class Elsewhere(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(302)
            self.send_header("Location", "http://127.0.0.1:1/anybody")
            self.end_headers()

        def log_message(self, *said: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Elsewhere)
    thread = Thread(target=server.handle_request)
    thread.start()
    with pytest.raises(OSError, match="we do not follow"):
        read_keys(f"http://127.0.0.1:{server.server_port}/keys")
    thread.join()
    server.server_close()
