"""Kinds of correlation keys, and the slips that people and programs make in them. All of it follows from one seed.

A slip belongs to a kind only if the key alone can tell what was meant: of two running numbers that differ in a digit
nobody can say that one is the other with a slip, so no such slip is planted; messages of the next number are (`fresh`).
"""

import random
import uuid
from collections.abc import Callable, Iterator

KINDS = ("running", "prefixed", "uuid", "email", "text", "digits")
Slip = Callable[[str, random.Random], str]
_SYLLABLES = "ba be bo da de do fa fi ga go ka ke ki la le lo ma me mi na ne no pa pe ra re ri ro sa se so ta te to wa"
_SYLLABLES_LIST = tuple(f"{_SYLLABLES} chen schu berg mann stein horn feld win kro bri".split())
_DOMAINS = ("example.com", "example.org", "mail.example.net", "shop.example")


def fresh_keys(kind: str, rng: random.Random) -> Iterator[str]:
    """Keys of a kind without end, none twice."""
    seen: set[str] = set()
    number = rng.randrange(1_000, 9_000)
    while True:
        number += 1
        key = _made(kind, number, rng)
        if key not in seen:
            seen.add(key)
            yield key


def _made(kind: str, number: int, rng: random.Random) -> str:
    match kind:
        case "running":
            return str(number)
        case "prefixed":
            return f"order-{number}"
        case "uuid":
            return str(uuid.UUID(int=rng.getrandbits(128), version=4))
        case "email":
            return f"{_word(rng, 3)}.{_word(rng, 3)}@{rng.choice(_DOMAINS)}"
        case "text":
            return f"{_word(rng, 4).title()} {_word(rng, 3).title()}"
        case _:
            return str(rng.randrange(10**15, 10**16))


def _word(rng: random.Random, syllables: int) -> str:
    return "".join(rng.choice(_SYLLABLES_LIST) for _ in range(syllables))


def _other_letter(key: str, rng: random.Random) -> str:
    """Another letter in place of one; in digits another digit."""
    places = [it for it, letter in enumerate(key) if letter.isalpha()] or range(len(key))
    place = rng.choice(places)
    letters = "0123456789" if key[place].isdigit() else "abcdef" if _is_hex(key) else "abcdefghijklmnopqrstuvwxyz"
    other = rng.choice([it for it in letters if it != key[place].lower()])
    return key[:place] + (other.upper() if key[place].isupper() else other) + key[place + 1 :]


def _is_hex(key: str) -> bool:
    return len(key) == 36 and key.count("-") == 4


def _swapped(key: str, rng: random.Random) -> str:
    """Two neighbours in each other's place."""
    places = [it for it in range(len(key) - 1) if key[it] != key[it + 1] and (key[it] + key[it + 1]).isalnum()]
    place = rng.choice(places)
    return key[:place] + key[place + 1] + key[place] + key[place + 2 :]


def _left_out(key: str, rng: random.Random) -> str:
    place = rng.choice([it for it in range(1, len(key)) if key[it].isalnum() and key[it] != key[it - 1]])
    return key[:place] + key[place + 1 :]


def _twice(key: str, rng: random.Random) -> str:
    place = rng.choice([it for it in range(1, len(key)) if key[it].isalnum()])
    return key[:place] + key[place] + key[place:]


def _blanks(key: str, rng: random.Random) -> str:
    return rng.choice((f" {key}", f"{key} ", f"{key}\t", f"{key}\u00a0", f"{key}\n"))


def _quotes(key: str, rng: random.Random) -> str:
    mark = rng.choice("\"'")
    return f"{mark}{key}{mark}"


def _prefix_word(key: str, rng: random.Random) -> str:
    """A slip in the letters before the number."""
    word, _, rest = key.partition("-")
    return f"{rng.choice((_swapped, _left_out, _other_letter, _twice))(word, rng)}-{rest}"


EVERYWHERE: dict[str, Slip] = {"blanks": _blanks, "quotes": _quotes}
_LETTERS: dict[str, Slip] = {
    "case": lambda key, rng: key.upper() if key != key.upper() else key.lower(),
    "typo by a letter": _other_letter,
    "swapped": _swapped,
    "left out": _left_out,
    "twice": _twice,
}
SLIPS: dict[str, dict[str, Slip]] = {
    "running": {
        "prefix": lambda key, rng: f"{rng.choice(('order-', 'ORD', 'no. '))}{key}",
        "zeros": lambda key, rng: key.zfill(rng.randrange(8, 12)),
        **EVERYWHERE,
    },
    "prefixed": {
        "case": lambda key, rng: rng.choice((key.upper(), key.title())),
        "prefix": lambda key, rng: key.removeprefix("order-"),
        "other prefix": lambda key, rng: key.replace("order-", rng.choice(("ord-", "ORD", "Order #"))),
        "zeros": lambda key, rng: key.replace("-", "-0000"),
        "separator": lambda key, rng: key.replace("-", rng.choice(("_", ":", "", "/"))),
        "typo by a letter": _prefix_word,
        **EVERYWHERE,
    },
    "uuid": {
        **_LETTERS,
        **EVERYWHERE,
        "prefix": lambda key, rng: f"{rng.choice(('urn:uuid:', 'id-', 'order:'))}{key}",
        "separator": lambda key, rng: key.replace("-", ""),
        "cut": lambda key, rng: key[: rng.randrange(12, 35)],
    },
    "email": {**_LETTERS, **EVERYWHERE, "prefix": lambda key, rng: f"mailto:{key}"},
    "text": {**_LETTERS, **EVERYWHERE, "separator": lambda key, rng: key.replace(" ", rng.choice("_-"))},
    "digits": {
        "typo by a digit": _other_letter,
        "swapped": _swapped,
        "left out": _left_out,
        "twice": _twice,
        "prefix": lambda key, rng: f"{rng.choice(('DE', 'acct-', 'no:'))}{key}",
        "separator": lambda key, rng: " ".join(key[it : it + 4] for it in range(0, len(key), 4)),
        **EVERYWHERE,
    },
}


def slipped(kind: str, slip: str, key: str, rng: random.Random) -> str:
    """The key with a slip; never the key itself."""
    while (wrong := SLIPS[kind][slip](key, rng)) == key:
        pass
    return wrong
