"""Correlation keys that are easily taken for one another: in what two differ, and by which forms they are found.

`difference` says what a near miss is; nothing else does but `slips.py`, for typing errors. `forms_of` brings together
what it may find near: of two keys that it does not call different, one has a form of the other. So a table can be
joined by equality, and an index can be asked. Of keys longer than `LONGEST` only case and blanks are looked at:
whatever a client sends takes a time that grows with its length and no more.
"""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple
from unicodedata import combining, normalize
from urllib.parse import quote, unquote

CASE_OR_BLANKS, QUOTES, NUMBER, PREFIX, OTHERWISE = "case or blanks only", "quotes only", "number", "prefix", "key"
PUNCTUATION, ENCODING, OTHER_PREFIX = "punctuation only", "accents or encoding only", "another prefix"

LONGEST = 200
_NUMBER = re.compile(r"([+-]?)0*(\d{1,40})(?:\.0*)?")
"""A fraction says something, unless it is zero: 10.1 is not 10.2."""
_PREFIX = re.compile(r"([^\W\d_]++)(?:[^\w]++|_++|(?=\d))(.*\d.*)", re.DOTALL)
"""Letters, then what separates them from the rest, or its first digit: `order-7`, `ORD0007`. A rest has a digit: of
two names that begin with different words neither lacks a prefix."""
_SCHEME = re.compile(r"(?:mailto|tel|urn:uuid|urn):")
_UUID = re.compile(r"\{?([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})\}?")
_WORDS = re.compile(r"(?<![\d.,])(?=\d)0*+(\d*+)[.,](\d++)(?![\d.,])|0*(\d+)|([^\W\d_]+)")
"""Numbers with a fraction, numbers, and words."""
_BETWEEN = re.compile(r"(?<=[^\W_])(?:[^\w]|_)+(?=[^\W_])")
_AROUND = ".,;:!?()[]{}<>#*'\"-_/ "
_SEPARATORS = ("", "-", "_", " ", ":", "/", ".", "#")
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})
_WITH_UMLAUT = (("ae", "ä"), ("oe", "ö"), ("ue", "ü"), ("Ae", "Ä"), ("Oe", "Ö"), ("Ue", "Ü"))
_LEAST_PREFIX = 3


class Awaited(NamedTuple):
    """A name and key for which somebody waits, and who."""

    name: str
    key: str
    process_id: str | None
    instance_id: Any
    element_id: str | None


class Forms(NamedTuple):
    """A key without what is easily mistaken: as a whole, and without its prefix; `numbered` is the latter again, for
    keys that have a prefix of their own.
    """

    whole: str
    rest: str | None
    numbered: str | None


class Compared(NamedTuple):
    """A key with what of it is compared."""

    key: str
    plain: str
    number: str | None
    forms: Forms


def folded(text: str) -> str:
    """Without case and blanks."""
    # The time to normalize a text of marks alone grows with the square of its length.
    as_it_is = text.isascii() or len(text) > LONGEST
    return "".join((text if as_it_is else normalize("NFKC", text)).split()).casefold()


def forms_of(key: str) -> Forms:
    return forms_of_folded(folded(key))


def forms_of_folded(plain: str) -> Forms:
    """Of a key without case and blanks."""
    if len(plain) > LONGEST:
        return Forms(plain, None, None)
    bare = _unquoted(plain)
    if "%" in bare or not bare.isascii():
        bare = _decoded(bare)
    if ":" in bare:
        bare = _SCHEME.sub("", bare, count=1)
    prefixed = None if "@" in bare else _PREFIX.fullmatch(bare)
    whole = _plain(bare)
    if prefixed is None or _UUID.fullmatch(bare):
        return Forms(whole, None, None)
    word, rest = prefixed[1], _plain(prefixed[2])
    return Forms(whole, rest, f"~{rest}" if len(word) >= _LEAST_PREFIX else None)


def compared(key: str) -> Compared:
    plain = folded(key)
    return Compared(key, plain, None if len(key) > LONGEST else _number(key), forms_of_folded(plain))


def difference(key: str, other: str) -> str:
    """What two different keys differ in."""
    return difference_of(compared(key), compared(other))


def difference_of(one: Compared, another: Compared) -> str:
    if one.plain == another.plain:
        return CASE_OR_BLANKS
    key, other = one.key, another.key
    if max(len(key), len(other), len(one.plain), len(another.plain)) > LONGEST:
        return OTHERWISE
    if _unquoted(key) == _unquoted(other):
        return QUOTES
    if one.number is not None and one.number == another.number:
        return NUMBER
    its, others = one.forms, another.forms
    if its.whole == others.whole:
        return _written_differently(key, other)
    if its.rest == others.whole or its.whole == others.rest:
        return PREFIX
    if its.numbered is not None and its.numbered == others.numbered and _abbreviates(key, other):
        return OTHER_PREFIX
    return OTHERWISE


def _written_differently(key: str, other: str) -> str:
    """Of two keys with the same whole form."""
    if _letters(key) == _letters(other):
        return PUNCTUATION
    if _SCHEME.match(folded(key)) or _SCHEME.match(folded(other)):
        return PREFIX
    return NUMBER if _letters(key).replace("0", "") == _letters(other).replace("0", "") else ENCODING


def _abbreviates(key: str, other: str) -> bool:
    """Is one prefix the beginning of the other, or the same with its letters in another order?"""
    one, another = (_PREFIX.fullmatch(_unquoted(folded(it))) for it in (key, other))
    if one is None or another is None:
        return False
    short, long = sorted((one[1], another[1]), key=len)
    return long.startswith(short) or (sorted(short) == sorted(long) and len(short) > _LEAST_PREFIX)


def variants(key: str) -> tuple[str, ...]:
    """Other ways to write a key, as far as they can be listed."""
    bare = _unquoted(key).strip()
    if len(key) > LONGEST:
        return _others(key, [bare, key.strip(), "".join(bare.split()), *cases_of(bare)])
    plain, forms = _SCHEME.sub("", bare), forms_of(key)
    ways = [bare, key.strip(), "".join(bare.split()), plain, *cases_of(bare), *cases_of(plain), _number(bare)]
    ways += [f"+{_number(bare)}" if _number(bare) else None, f"00{bare[1:]}" if bare.startswith("+") else None]
    ways += [f'"{bare}"', forms.whole, forms.rest, *_uuids(forms)]
    ways += [_BETWEEN.sub(between, bare) for between in _SEPARATORS]
    ways += [bare.strip(_AROUND), f"#{bare}" if bare else bare, unquote(bare), quote(bare, safe=""), *_accents(bare)]
    if prefixed := _PREFIX.fullmatch(bare):
        number = prefixed[2].lstrip("0")
        ways += [prefixed[2], number, *(f"{prefixed[1]}{between}{number}" for between in _SEPARATORS)]
    return _others(key, ways)


def _others(key: str, ways: Iterable[str | None]) -> tuple[str, ...]:
    return tuple({way: None for way in ways if way and way != key})


def cases_of(text: str) -> tuple[str, ...]:
    return (text.lower(), text.upper(), text.title(), text.capitalize())


def _accents(bare: str) -> list[str]:
    """Without accents, with each of the umlauts that may be meant, and with all of them."""
    every = bare
    for written, meant in _WITH_UMLAUT:
        every = every.replace(written, meant)
    some = [bare.replace(written, meant) for written, meant in _WITH_UMLAUT]
    plain = "".join(it for it in normalize("NFKD", bare) if not combining(it))
    spelled = "".join(written if it == meant else it for it in bare for written, meant in [_spelled(it)])
    return [plain, spelled, every, *some]


def _spelled(letter: str) -> tuple[str, str]:
    return next(((written, meant) for written, meant in _WITH_UMLAUT if meant == letter), (letter, letter))


def _uuids(forms: Forms) -> list[str]:
    """As they are written most often."""
    found = [_UUID.fullmatch(form) for form in (forms.whole, forms.rest) if form]
    dashed = ["-".join(it.groups()) for it in found if it]
    return [*dashed, *(it.upper() for it in dashed)]


def other_key(name: str, key: str, awaited: Awaited, differs: str = "") -> dict[str, Any]:
    """The near miss of a message with this name and key: somebody waits with another one."""
    miss = {"kind": "other_key", "key": awaited.key, "differs": differs or difference(key, awaited.key)}
    who = {"process": awaited.process_id, "instance": awaited.instance_id, "element": awaited.element_id}
    return miss | ({} if awaited.name == name else {"name": awaited.name}) | who


CLOSEST_FIRST = (CASE_OR_BLANKS, QUOTES, NUMBER, PUNCTUATION, ENCODING, PREFIX, OTHER_PREFIX)


def _unquoted(key: str) -> str:
    bare = key.strip()
    return bare[1:-1] if len(bare) > 1 and bare[0] == bare[-1] and bare[0] in "\"'" else bare


def _plain(bare: str) -> str:
    """A number as such; of anything else its words and numbers, without what stands between them."""
    number = _number(bare)
    if number is not None:
        return number
    uuid = _UUID.fullmatch(bare)
    if uuid is not None:
        return "".join(uuid.groups())
    plain = ""
    for whole, fraction, digits, word in _WORDS.findall(bare):
        if fraction:
            digits = (whole or "0") + (f"-{fraction}" if fraction.strip("0") else "")
        # Two numbers stay two.
        plain += f"-{digits}" if digits and plain[-1:].isdigit() else digits or word
    return plain or bare


def _decoded(bare: str) -> str:
    """Without the encoding of an address in the web, and without accents: `%40` is @, and ü is ue."""
    if "%" in bare:
        bare = unquote(bare)
    if bare.isascii():
        return bare
    return "".join(it for it in normalize("NFKD", bare.translate(_UMLAUTS)) if not combining(it))


def _letters(key: str) -> str:
    """Letters and digits alone."""
    return "".join(filter(str.isalnum, folded(key)))


def _number(key: str) -> str | None:
    """Without its zeros."""
    match = _NUMBER.fullmatch(key.strip())
    if match is None:
        return None
    return f"-{match[2]}" if match[1] == "-" and match[2] != "0" else match[2]
