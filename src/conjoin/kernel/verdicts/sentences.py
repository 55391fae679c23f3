"""Sentences: a verdict as one plain English sentence, made from its reason and the reason's parameters.

The parameters are those of `verdicts.parameters`, as they are or read back from JSON (instants are then ISO text).
A parameter that is missing never hurts: the sentence is shorter by it. Nothing here decides anything.
"""

from collections.abc import Callable, Mapping
from typing import Any

Parameters = Mapping[str, Any]
Phrase = Callable[[Parameters, str], str]

_UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))


def sentence(verdict: str, reason: str, parameters: Parameters, name: str = "", key: str = "") -> str:
    """What became of a message with this name and key, why, and what came nearest to taking it."""
    phrase = PHRASES.get((verdict, reason))
    what = phrase(parameters, _message(name, key)) if phrase else reason.replace("_", " ")
    nearest = _nearest(parameters)
    text = f"{verdict.capitalize()}: {what}{'; ' + nearest if nearest else ''}"
    return text if text.endswith(".") or nearest.endswith("?") else f"{text}."


def near_miss(miss: Parameters) -> str:
    """One near miss: where it is, and what would mend it."""
    phrase = _NEAR_MISSES.get(str(miss.get("kind")))
    return phrase(miss) if phrase else str(miss.get("kind", "")).replace("_", " ")


def duration(ms: object) -> str:
    """1500 -> `1.5 s`; the largest unit that fits, one decimal at most."""
    if not isinstance(ms, int) or ms < 1_000:
        return f"{ms} ms"
    size, unit = next((size, unit) for size, unit in _UNITS if ms >= size)
    tenths = ms * 10 // size
    return f"{tenths // 10}.{tenths % 10} {unit}" if tenths % 10 else f"{tenths // 10} {unit}"


def _message(name: str, key: str) -> str:
    if not name:
        return f"a message with key {key!r}" if key else "this message"
    return f"{name!r} with key {key!r}" if key else f"{name!r} without a key"


def _nearest(given: Parameters) -> str:
    misses = given.get("near_misses") or ()
    after = given.get("next_subscription")
    if after:
        late = duration(after.get("late_ms"))
        return f"{_who(after)} began to wait {late} after the deadline - a longer time to live mends it"
    return near_miss(misses[0]) if misses else ""


def _who(given: Parameters) -> str:
    """`process order (instance i-7 at wait-for-money)`, as much of it as is given."""
    process, instance, element = given.get("process"), given.get("instance"), given.get("element")
    place = f"at {element}" if element else ""
    inside = " ".join(part for part in (f"instance {instance}" if instance else "", place) if part)
    if not process:
        return inside or "somebody"
    return f"process {process} ({inside})" if inside else f"process {process}"


def _of(given: Parameters, name: str, text: str) -> str:
    """` text` with the parameter put in, or nothing when it is not given."""
    value = given.get(name)
    return "" if value is None or value == "" else text.format(value)


def _listed(values: object) -> str:
    return ", ".join(str(value) for value in values) if isinstance(values, (list, tuple)) else str(values)


def _waiting_later(given: Parameters, message: str) -> str:
    waited = f" {duration(given['waited_ms'])} after it was published" if "waited_ms" in given else ""
    return f"{message} came early and was kept; {_who(given)} took it{waited}"


def _taken_after_refusal(given: Parameters, message: str) -> str:
    first = _of(given, "first_instance", "instance {} gave it back") or "the first receiver gave it back"
    return f"{first}{_of(given, 'why', ' ({})')}, then {_who(given)} took {message}"


def _handed_over(given: Parameters, message: str) -> str:
    taken = _of(given, "target", ", where {} has it") or ", which does not say who took it"
    return f"{message} was handed over to {given.get('system') or 'our own engine'}{taken}"


def _kept_until(given: Parameters) -> str:
    until = given.get("deadline_at")
    if until == "never":
        return "; it is kept for ever"
    return _of(given, "deadline_at", "; it is kept until {}")


def _behind_lock(given: Parameters, message: str) -> str:
    if given.get("business_id"):
        which = (
            f"process {given.get('process', '?')}, of which an instance with its business id {given['business_id']!r}"
        )
        return f"{message} would start {which} is still running{_kept_until(given)}"
    return f"{message} would start a process of which an instance with this key is still running{_kept_until(given)}"


def _taken_by_process(given: Parameters, message: str) -> str:
    taken = f"process {given.get('process', '?')} already has {message}"
    through = _of(given, "instance", " through instance {}") + _of(given, "taken_at", " since {}")
    return f"{taken}{through}, and a process gets a message once{_kept_until(given)}"


def _expired(why: str) -> Phrase:
    return lambda given, message: why.format(message) + _of(given, "deadline_at", " until its deadline {}")


def _never_offered(given: Parameters, message: str) -> str:
    """In an inbox it counts its attempts; elsewhere it is a matter of deployments."""
    if "attempts" in given:
        return f"{message} was never tried" + _of(given, "deadline_at", " until its deadline {}")
    deployed = f"the process that {message} could start was deployed later, and a deployment does not look at messages"
    return f"{deployed} that are already there; it was kept" + _of(given, "deadline_at", " until its deadline {}")


def _duplicate(given: Parameters, message: str) -> str:
    holder = _of(given, "first_message", "message {}, which") or "a message that"
    first = _of(given, "first_published_at", ", first published at {}")
    until = _of(given, "until_at", "; the id is free again at {}")
    if given.get("until_at") == "never":
        until = "; the id is never free again"
    answer = " (answered as if it were accepted)" if given.get("acknowledged") else ""
    return f"{message} has the id of {holder} is still remembered{first}{until}{answer}"


def _invalid(given: Parameters, message: str) -> str:
    if "field" not in given:
        return f"{message} cannot be used{_of(given, 'why', ': {}')}"
    value = _of(given, "value", " is {!r}")
    return f"{given['field']} of {message}{value}{_of(given, 'why', ': {}')}"


def _attempted(what: str) -> Phrase:
    def phrase(given: Parameters, message: str) -> str:
        attempt = _of(given, "attempt", " (attempt {})") or _of(given, "attempts", " after {} attempts")
        error = _of(given, "error", ": {}") or _of(given, "last_error", ": {}")
        again = _of(given, "next_retry_at", "; tried again at {}")
        # What failed says it in a sentence of its own.
        return what.format(message) + attempt + error.rstrip().removesuffix(".") + again

    return phrase


PHRASES: dict[tuple[str, str], Phrase] = {
    ("correlated", "waiting_instance"): lambda given, message: (
        f"{message} was taken in an earlier run by process {_listed(given.get('processes', ()))}"
        if given.get("earlier_run")
        else f"{_who(given)} was already waiting for {message}"
    ),
    ("correlated", "waiting_instance_later"): _waiting_later,
    ("correlated", "started_instance"): lambda given, message: f"{message} started {_who(given)}",
    ("correlated", "started_after_lock"): lambda given, message: (
        f"{message} waited behind a running instance of the same key and started {_who(given)}"
        f"{_of(given, 'freed_by', ' when instance {} had ended')}"
    ),
    ("correlated", "given_back_and_taken"): _taken_after_refusal,
    ("correlated", "handed_over"): _handed_over,
    ("buffered", "nobody_waits"): lambda given, message: f"nobody waits for {message} yet{_kept_until(given)}",
    ("buffered", "locked"): _behind_lock,
    ("buffered", "taken_by_process"): _taken_by_process,
    ("buffered", "given_back"): lambda given, message: (
        f"{_who(given)} gave {message} back{_of(given, 'why', ' ({})')}{_kept_until(given) or '; it is kept'},"
        " for whoever waits next"
    ),
    ("buffered", "busy"): lambda given, message: (
        f"the one who waits for {message} is just taking another message{_kept_until(given)}"
    ),
    ("buffered", "handed_over"): lambda given, message: (
        f"{message} was handed over to {given.get('system') or 'our own engine'} and is kept there"
        f"{_of(given, 'target', ' as {}')}, for whoever waits for it"
    ),
    ("expired", "nobody_waited"): _expired("nobody waited for {}"),
    ("expired", "was_locked"): _expired("an instance with its key ran, so {} could not start another"),
    ("expired", "never_offered"): _never_offered,
    ("discarded", "ttl_zero"): lambda given, message: f"nobody waited for {message} and its time to live is 0",
    ("discarded", "policy"): lambda given, message: (
        f"nobody waited for {message} and the policy on_no_match says discard"
    ),
    ("discarded", "deleted"): lambda given, message: f"somebody deleted {message} from the inbox",
    ("refused", "duplicate_id"): _duplicate,
    ("refused", "not_found"): lambda given, message: f"nobody waited for {message}, and it may not be kept",
    ("refused", "ambiguous"): lambda given, message: (
        f"{given.get('count', 'several')} could take {message} and exactly one may:"
        f" {_listed(given.get('candidates', ()))}"
    ),
    ("refused", "locked"): lambda given, message: (
        f"{message} would start process {_listed(given.get('processes', ()))},"
        " of which an instance with this key is still running"
    ),
    ("refused", "invalid"): _invalid,
    ("refused", "forbidden"): _attempted("the sender may not publish {}"),
    ("refused", "wrong_tenant"): _attempted("the sender does not belong to the tenant of {}"),
    ("short", "fewer_than_expected"): lambda given, message: (
        f"{message} was expected by {given.get('expected', '?')} receivers and taken by {given.get('got', '?')}"
    ),
    ("waiting", "in_backoff"): _attempted("delivering {} failed and waits for its next attempt"),
    ("waiting", "in_grace"): _attempted("{} waits for its grace time to pass"),
    ("waiting", "paused"): _attempted("deliveries are paused, {} with them"),
    ("waiting", "not_due"): _attempted("{} waits for the next run, or for its turn in its group"),
    ("parked", "attempts_exhausted"): _attempted("delivering {} was given up"),
    ("parked", "held"): _attempted("trying {} again is of no use, so it waits for a person"),
    ("failed", "target_error"): _attempted("the receiver of {} failed"),
    ("failed", "mapping_error"): _attempted("the variables of {} could not be mapped"),
    ("failed", "decode_error"): _attempted("{} could not be decoded"),
}


def _other_name(miss: Parameters) -> str:
    differs = miss.get("differs")
    if differs == "version":
        runs = f"{_who(miss)} runs on version {miss.get('version')} and waits for {miss.get('name')!r} on the same key"
        return f"{runs} - it is version {miss.get('other_version')} that waits for this name"
    mend = {"name": "is one of the two names wrong?", "spelling": "is one of the two misspelled?"}.get(
        str(differs), f"the name differs in {differs}"
    )
    return f"{_who(miss)} waits for {miss.get('name')!r} on the same key - {mend}"


_KEYS_DIFFER = {
    "key": "is one of the two keys wrong?",
    "prefix": "one of the two keys has a prefix more than the other",
    "another prefix": "the same with another prefix",
    "number": "the same number, written in another way",
    "a letter": "one character differs: is one of the two keys misspelled?",
    "two letters": "two characters have changed places: is one of the two keys misspelled?",
    "a digit": "one digit differs, and no other key is so near: is one of the two misspelled?",
    "two digits": "two digits have changed places, and no other key is so near: is one of the two misspelled?",
    "its end": "one of the two keys goes on where the other ends: was it cut off?",
}


def _mended_key(miss: Parameters) -> str:
    differs = str(miss.get("differs", "key"))
    return _KEYS_DIFFER.get(differs, f"the key differs in {differs}")


def _too_early(miss: Parameters) -> str:
    """Who will wait for it, where it is now, and how to bridge the time."""
    at = miss.get("at_name") or miss.get("at")
    where = f"is at {at!r} and " if at else ""
    then = f"waits for it after that, at {miss.get('element')}"
    usual = (
        f" (such waits began {duration(miss['usual_ms'])} after the start, on average)" if "usual_ms" in miss else ""
    )
    mend = (
        "it is kept for that"
        if miss.get("kept")
        else f"publish it with a time to live, such as {miss.get('keep', '1h')}"
    )
    who = f"instance {miss.get('instance')} of process {miss.get('process')}"
    return f"{who} {where}{then} - {mend}{usual}"


def _other_key(miss: Parameters) -> str:
    name = miss.get("name")
    named = "it" if name is None else repr(name)
    mend = _mended_key(miss) + ("" if name is None else ", and the name in case or blanks")
    return f"{_who(miss)} waits for {named} with key {miss.get('key')!r} - {mend}"


def _never_awaited(miss: Parameters) -> str:
    computed, similar = miss.get("computed"), miss.get("similar")
    unless = f", unless process {_listed(computed)} computes it" if computed else ""
    mend = f"did you mean {similar!r}?" if similar else "is it spelled right?"
    where = _of(miss, "tenant", " in tenant {!r}")
    return f"no process that is deployed{where} ever waits for this name{unless} - {mend}"


def _holder(miss: Parameters, what: str) -> str:
    """Who holds it, since when, and where it stands."""
    at = _listed([repr(it) for it in miss.get("at") or ()])
    stands = f", now at {at}" if at else ""
    since = _of(miss, "since_at", " since {}")
    return f"instance {miss.get('instance')} of process {miss.get('process')} holds {what}{since}{stands}"


_NEAR_MISSES: dict[str, Callable[[Parameters], str]] = {
    "lock_held": lambda m: f"{_holder(m, 'the key')} - it must end first",
    "business_id_held": lambda m: f"{_holder(m, 'its business id')} - it must end first",
    "busy": lambda m: f"{_who(m)} waits for it but is just taking another message - it is free in a moment",
    "other_business_id": lambda m: (
        f"{_who(m)} waits for business id {m['business_id']!r} - send that one, or none to reach anybody"
        if m.get("business_id")
        else f"{_who(m)} waits for it without a business id - send none to reach anybody"
    ),
    "constraint": lambda m: f"{_who(m)} waits for it but the policy's constraint says no",
    "closed_before": lambda m: (
        f"{_who(m)} stopped waiting {duration(m.get('closed_ms_before'))} before it was published - it came too late"
    ),
    "other_name": _other_name,
    "other_tenant": lambda m: f"{_who(m)} waits for it in tenant {m.get('tenant')!r} - publish it there",
    "other_key": _other_key,
    "expired_before": lambda m: (
        f"it was gone {duration(m.get('late_ms'))} before {_who(m)} began to wait -"
        " publish it with a longer time to live"
    ),
    "taken_by_process": lambda m: (
        f"process {m.get('process')} already has it through instance {m.get('instance')}"
        f"{_of(m, 'waiting_instance', ', so instance {} waits for another one')}"
    ),
    "never_awaited": _never_awaited,
    "too_early": _too_early,
    "incident": lambda m: (
        f"{_who(m)} should wait for it but does not because of incident {m.get('incident')}"
        f"{_of(m, 'text', ' ({})')} - mend the cause and resolve it"
    ),
}
