"""Typing errors in a key: one character too many, too few or another one, two in the wrong order, or its end cut off.

One character is no evidence by itself. Numbers that are handed out one after the other differ in a digit by nature, so
a slip in a number counts only where those who wait stand so far apart that chance would hardly bring one that near.
Words and random keys (UUIDs) do not differ in a letter by nature; words of three letters do.
"""

import re
from collections.abc import Iterator, Sequence

from conjoin.kernel.verdicts.similar_keys import LONGEST, folded

LETTER, SWAPPED, CUT, DIGIT, SWAPPED_DIGITS = "a letter", "two letters", "its end", "a digit", "two digits"
IN_A_NUMBER = frozenset({DIGIT, SWAPPED_DIGITS})
"""Evidence only with a look at the others who wait: `stands_alone`."""

_RANDOM = re.compile(r"[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}|[0-9a-f]{16,}")
_MIXED = re.compile(r"[a-z0-9]{8,}")
_CHANGES = re.compile(r"(?<=[a-z])(?=\d)|(?<=\d)(?=[a-z])")
_LONG_NUMBER = re.compile(r"\d{4}")
_LEAST_CHANGES, _LONG_RANDOM = 3, 20
_NUMBERED = re.compile(r"[^\W\d_]*\W*\d{1,11}")
_LOOK_ALIKE = ({"0", "o"}, {"1", "l"}, {"1", "i"}, {"5", "s"}, {"8", "b"})
_LEAST_WORD, _LEAST_PREFIX, _LEAST_CUT, _LEAST_PART = 4, 3, 8, 5
_LONGEST = 64
"""Longer keys are not compared letter by letter."""
_CHANCE = 0.005
_FEW = 3
_LEAST_ALONE = 12
_DIGITS, _LETTERS, _HEX = "0123456789", "abcdefghijklmnopqrstuvwxyz", "0123456789abcdef"


def slip(key: str, other: str) -> str | None:
    """The slip by which one of two keys may have become the other; None where it is none, or no evidence."""
    if max(len(key), len(other)) > LONGEST:
        return None
    one, another = folded(key), folded(other)
    if one == another or max(len(one), len(another)) > _LONGEST:
        return None
    found = _one_edit(one, another)
    if found is None:
        return CUT if _is_cut(*sorted((one, another), key=len)) else None
    place, is_swap = found
    short, long = sorted((one, another), key=len)
    changed = {long[place : place + 1 + is_swap]} if len(short) < len(long) or is_swap else {one[place], another[place]}
    letters = "".join(changed)
    if not letters.isalnum():
        return None
    if _in_random(long, place) or _in_random(short, min(place, len(short) - 1)):
        return SWAPPED if is_swap else LETTER
    if changed in _LOOK_ALIKE:
        return LETTER
    if any(map(str.isdigit, letters)):
        return SWAPPED_DIGITS if is_swap and letters.isdigit() else DIGIT
    return (SWAPPED if is_swap else LETTER) if _in_word(long, place) else None


def _one_edit(one: str, other: str) -> tuple[int, bool] | None:
    """Where it is in the longer one, and whether two have changed places."""
    if abs(len(one) - len(other)) > 1:
        return None
    short, long = sorted((one, other), key=len)
    place = next((it for it, letter in enumerate(short) if letter != long[it]), len(short))
    if len(short) < len(long):
        return (place, False) if short[place:] == long[place + 1 :] else None
    if short[place + 1 :] == long[place + 1 :]:
        return place, False
    is_swap = short[place : place + 2] == long[place : place + 2][::-1] and short[place + 2 :] == long[place + 2 :]
    return (place, True) if is_swap else None


def _in_random(key: str, place: int) -> bool:
    """In a UUID or something like it: letters and digits mixed, with no number in it that could be a running one."""
    if any(it.start() <= place < it.end() and not it[0].isdigit() for it in _RANDOM.finditer(key)):
        return True
    run = next((it for it in _MIXED.finditer(key) if it.start() <= place < it.end()), None)
    if run is None or len(_CHANGES.findall(run[0])) < _LEAST_CHANGES:
        return False
    return len(run[0]) >= _LONG_RANDOM or not _LONG_NUMBER.search(run[0])


def _in_word(key: str, place: int) -> bool:
    """A word that is long enough, or the prefix of a number."""
    word = next((it for it in re.finditer(r"[^\W\d_]+", key) if it.start() <= place <= it.end()), None)
    if word is None:
        return False
    if "@" in key[:place]:
        # Of an address: nobody has another domain of nearly the same name.
        return True
    is_prefix = word.start() == 0 and re.match(r"\W?\d{3}", key[word.end() :]) is not None
    return len(word[0]) > (_LEAST_PREFIX if is_prefix else _LEAST_WORD)


def _is_cut(short: str, long: str) -> bool:
    goes_on = long.startswith(short) and not long[len(short) :][:1].isalnum()
    if len(short) < (_LEAST_PART if goes_on else _LEAST_CUT) or not long.startswith(short):
        return False
    in_number = short[-1].isdigit() and long[len(short)].isdigit()
    return _in_random(long, len(short)) or not in_number


def stands_alone(key: str, other: str, differs: str, around: Sequence[str]) -> bool:
    """May a slip in a number be one? `around` are other keys that are awaited, the nearest to `other` among them.

    How many such slips of a key would hit somebody by chance follows from how near to each other they stand.
    """
    head, digits = _number_at_the_slip(key, other)
    width = len(digits)
    numbers = [
        int(it[len(head) : len(head) + width])
        for it in around
        if it not in (key, other) and len(it) == len(other) and _is_number_at(it, head, width)
    ]
    if len(numbers) < _FEW:
        return width >= _LEAST_ALONE and (differs == SWAPPED_DIGITS or _is_far(key, other, head, width))
    away = sorted(abs(it - int(digits)) for it in numbers)[: 2 * _FEW]
    return 10 * width * len(away) / (2 * max(away[-1], 1)) <= _CHANCE


def _number_at_the_slip(key: str, other: str) -> tuple[str, str]:
    """What stands before the number of `other` in which the slip is, and the number."""
    place = next((it for it, (a, b) in enumerate(zip(key, other, strict=False)) if a != b), min(len(key), len(other)))
    for number in re.finditer(r"\d+", other):
        if number.start() <= place <= number.end():
            return other[: number.start()], number[0]
    return other, "0"


def _is_number_at(key: str, head: str, width: int) -> bool:
    # Not every digit of Unicode makes a number: of ² there is no `int`.
    return key.startswith(head) and key[len(head) : len(head) + width].isdecimal()


def _is_far(key: str, other: str, head: str, width: int) -> bool:
    """Two numbers of one length that were not handed out one soon after the other."""
    if not _is_number_at(key, head, width) or len(key) != len(other):
        return len(key) != len(other)
    return abs(int(key[len(head) : len(head) + width]) - int(other[len(head) : len(head) + width])) > 10**6


def floors(other: str, key: str) -> Iterator[str]:
    """From where to list those who wait in the order of their keys, to find who stands near `other`."""
    head, digits = _number_at_the_slip(key, other)
    for zeros in range(2, len(digits) + 1, 3):
        yield head + digits[:-zeros] + "0" * zeros


def halves_awaited(plain: str) -> list[str]:
    """Of a key without case and blanks that somebody waits with: a slip in one of its halves leaves the other one as it
    is. Of an address the part before the @ is halved, since very many have the rest in common.
    """
    if not _may_slip(plain):
        return []
    local, domain = _local_part(plain)
    middle = len(local) // 2
    halves = [f"{len(local)}<{local[:middle]}{domain}", f"{len(local)}>{local[middle:]}{domain}"]
    return [*halves, *([f"@{local}"] if domain else ())]


def halves_sent(plain: str) -> list[str]:
    """Of a key that was sent: a key one slip away has one of these."""
    if not _may_slip(plain):
        return []
    local, domain = _local_part(plain)
    found = [f"@{local}"] if domain else []
    for length in range(max(len(local) - 1, 0), len(local) + 2):
        middle = length // 2
        tail = local[middle - length :] if length > middle else ""
        found += [f"{length}<{local[:middle]}{domain}", f"{length}>{tail}{domain}"]
    return found


def _local_part(plain: str) -> tuple[str, str]:
    local, at, domain = plain.partition("@")
    return local, at + domain


def _may_slip(plain: str) -> bool:
    """Long enough, and no number with letters before it: those are told by their prefix."""
    return _LEAST_CUT <= len(plain) <= _LONGEST and _NUMBERED.fullmatch(plain) is None


def neighbours(key: str, most: int = 4_000) -> list[str]:
    """Every key that is one slip away, to be looked up; empty for keys that are too long for it."""
    if len(key) > _LONGEST:
        return []
    found: dict[str, None] = {}
    for place in range(len(key) + 1):
        head, tail = key[:place], key[place:]
        letters = _letters_at(key, place)
        found.update((head + letter + tail, None) for letter in letters)
        if tail:
            found.update((head + letter + tail[1:], None) for letter in letters)
            found[head + tail[1:]] = None
        if len(tail) > 1:
            found[head + tail[1] + tail[0] + tail[2:]] = None
    found.pop(key, None)
    return [it for it in found if it][:most]


def _letters_at(key: str, place: int) -> str:
    """Which characters may belong there: in a random key, a number or a word."""
    beside = key[max(place - 1, 0) : place + 1]
    lower = key.lower()
    if _in_random(lower, max(place - 1, 0)) or _in_random(lower, place):
        letters = _HEX if _RANDOM.search(lower) else _LETTERS + _DIGITS
    elif beside.isdigit():
        letters = _DIGITS
    else:
        letters = _LETTERS + "".join({it for it in lower if not it.isascii()})
        letters += "".join({it for it in beside if not it.isalnum()})
        if any(map(str.isdigit, beside)):
            letters += _DIGITS
    upper = any(map(str.isupper, beside)) and not any(map(str.islower, beside))
    both = place == 0 or not beside[0].isalnum()
    return letters.upper() + (letters if both else "") if upper else letters
