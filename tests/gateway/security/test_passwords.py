"""Wrong passwords slow down whoever sends them, and nobody else; right ones are checked once."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from conjoin.gateway.security.authentication import passwords as passwords_module
from conjoin.gateway.security.authentication.callers import is_password, password_hash
from conjoin.gateway.security.authentication.passwords import Guesses, PasswordCheck, PasswordChecks, Who, network_of
from conjoin.gateway.statuses import TooManyRequests

ALICE, BOB = PasswordCheck("of alice", True), PasswordCheck("of bob", True)


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The passwords that were looked at: right is the one that its hash ends with."""
    looked_at: list[str] = []

    def compared(password: str, kept: str) -> bool:
        looked_at.append(password)
        return kept.endswith(password)

    monkeypatch.setattr(passwords_module, "is_password", compared)
    return looked_at


def run(work: Callable[[PasswordChecks], Awaitable[object]]) -> None:
    async def in_loop() -> None:
        await work(PasswordChecks())

    asyncio.run(in_loop())


def test_who_guesses_waits_longer_and_longer_and_is_forgotten() -> None:
    guesses, who = Guesses(), Who("alice", "10.0.0.1")
    pauses = []
    for number in range(12):
        guesses.failed(who, 0.0, True)
        pauses.append(guesses.pause_s(who, 0.0))
        assert guesses.pause_s(who, 0.0 + pauses[-1]) == 0, number
    assert pauses == sorted(pauses)
    assert (pauses[3], pauses[-1] > 30) == (0, True)
    assert guesses.pause_s(Who("alice", "10.0.0.2"), 0.0) == guesses.pause_s(Who("bob", "10.0.0.1"), 0.0) == 0
    guesses.failed(who, 10_000.0, True)
    assert guesses.pause_s(who, 10_000.0) == 0


def test_what_is_remembered_of_guesses_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords_module, "_MOST_GUESSES", 10)
    guesses = Guesses()
    for number in range(100):
        guesses.failed(Who("alice", f"10.0.0.{number}"), 0.0, True)
    assert len(guesses._tried) == 10


@pytest.mark.parametrize("name", ["one", "many", "unknown"])
def test_a_flood_of_wrong_passwords_locks_out_nobody_else(checked: list[str], name: str) -> None:
    async def work(checks: PasswordChecks) -> None:
        flood = [
            asyncio.create_task(
                checks.is_right(
                    Who("alice" if name == "one" else f"alice{number}", "10.0.0.1"),
                    f"wrong{number}",
                    ALICE if name != "unknown" else PasswordCheck("of alice", False),
                )
            )
            for number in range(200)
        ]
        await asyncio.sleep(0)
        assert await checks.is_right(Who("bob", "10.0.0.1"), "bob", BOB) is True
        answers = await asyncio.gather(*flood)
        assert True not in answers
        if name != "many":
            assert sum(isinstance(it, TooManyRequests) for it in answers) > 150
            assert len(checked) < 20

    run(work)


def test_a_right_password_is_checked_once_however_often_it_comes_in(checked: list[str]) -> None:
    async def work(checks: PasswordChecks) -> None:
        who = Who("bob", "10.0.0.1")
        assert set(await asyncio.gather(*(checks.is_right(who, "bob", BOB) for _ in range(100)))) == {True}
        assert await checks.is_right(Who("bob", "10.0.0.2"), "bob", BOB) is True
        for number in range(20):
            await checks.is_right(who, f"wrong{number}", BOB)
        assert await checks.is_right(who, "bob", BOB) is True, "whoever is known to be right is not slowed down"
        assert isinstance(await checks.is_right(who, "another", BOB), TooManyRequests)
        assert await checks.is_right(who, "bob", PasswordCheck("changed", True)) is not True

    run(work)
    assert checked.count("bob") <= 2


def test_old_hashes_still_count_and_damaged_ones_do_not() -> None:
    old = "scrypt:16384:8:1:c2FsdHNhbHRzYWx0c2FsdA==:"
    assert not is_password("x", old)
    assert not is_password("x", "nonsense")
    assert is_password("secret", password_hash("secret"))


def test_one_machine_has_one_address() -> None:
    assert network_of("2001:db8::1") == network_of("2001:db8::ffff:1") == "2001:db8::/64"
    assert network_of("::ffff:10.0.0.1") == network_of("10.0.0.1") == "10.0.0.1"
    assert network_of("unix") == "unix"
