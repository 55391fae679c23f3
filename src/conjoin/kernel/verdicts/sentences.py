"""Sentences: a verdict as one plain English sentence, made from its reason and the reason's parameters.

The parameters are those of `verdicts.parameters`, as they are or read back from JSON (instants are then ISO text).
A parameter that is missing never hurts: the sentence is shorter by it. Nothing here decides anything.
"""

from collections.abc import Callable, Mapping
from typing import Any

Told = Mapping[str, Any]
Phrase = Callable[[Told, str], str]

_UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))


def sentence(verdict: str, reason: str, parameters: Told, name: str = "", key: str = "") -> str:
    """What became of a message with this name and key, why, and what came nearest to taking it."""
    phrase = _PHRASES.get((verdict, reason))
    what = phrase(parameters, _message(name, key)) if phrase else reason.replace("_", " ")
    nearest = _nearest(parameters)
    text = f"{verdict.capitalize()}: {what}{'; ' + nearest if nearest else ''}"
    return text if text.endswith(".") or nearest.endswith("?") else f"{text}."


def near_miss(miss: Told) -> str:
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


def _nearest(told: Told) -> str:
    misses = told.get("near_misses") or ()
    after = told.get("next_subscription")
    if after:
        who = _who(after)
        return (
            f"{who} began to wait {duration(after.get('late_ms'))} after the deadline - a longer time to live mends it"
        )
    return near_miss(misses[0]) if misses else ""


def _who(told: Told) -> str:
    """`process order (instance i-7 at wait-for-money)`, as much of it as was told."""
    process, instance, element = told.get("process"), told.get("instance"), told.get("element")
    place = f"at {element}" if element else ""
    inside = " ".join(part for part in (f"instance {instance}" if instance else "", place) if part)
    if not process:
        return inside or "somebody"
    return f"process {process} ({inside})" if inside else f"process {process}"


def _of(told: Told, name: str, text: str) -> str:
    """` text` with the parameter put in, or nothing when it was not told."""
    value = told.get(name)
    return "" if value is None or value == "" else text.format(value)


def _listed(values: object) -> str:
    return ", ".join(str(value) for value in values) if isinstance(values, (list, tuple)) else str(values)


def _waiting_instance(told: Told, message: str) -> str:
    if told.get("earlier_run"):
        return f"{message} was taken in an earlier run by process {_listed(told.get('processes', ()))}"
    return f"{_who(told)} was already waiting for {message}"


def _waiting_later(told: Told, message: str) -> str:
    waited = _of({"ms": duration(told["waited_ms"])}, "ms", " {} after it was published") if "waited_ms" in told else ""
    return f"{message} came early and was kept; {_who(told)} took it{waited}"


def _started(told: Told, message: str) -> str:
    return f"{message} started {_who(told)}"


def _started_after_lock(told: Told, message: str) -> str:
    freed = _of(told, "freed_by", " when instance {} had ended")
    return f"{message} waited behind a running instance of the same key and started {_who(told)}{freed}"


def _taken_after_refusal(told: Told, message: str) -> str:
    first = _of(told, "first_instance", "instance {} gave it back") or "the first receiver gave it back"
    return f"{first}{_of(told, 'why', ' ({})')}, then {_who(told)} took {message}"


def _handed_over(told: Told, message: str) -> str:
    taken = _of(told, "target", ", where {} has it") or ", which does not say who took it"
    return f"{message} was handed over to {told.get('system') or 'our own engine'}{taken}"


def _handed_over_to_keep(told: Told, message: str) -> str:
    kept = "is kept there" + _of(told, "target", " as {}")
    return f"{message} was handed over to {told.get('system') or 'our own engine'} and {kept}, for whoever waits for it"


def _nobody_waits(told: Told, message: str) -> str:
    return f"nobody waits for {message} yet{_kept_until(told)}"


def _kept_until(told: Told) -> str:
    until = told.get("deadline_at")
    if until == "never":
        return "; it is kept for ever"
    return _of(told, "deadline_at", "; it is kept until {}")


def _behind_lock(told: Told, message: str) -> str:
    if told.get("business_id"):
        which = f"process {told.get('process', '?')}, of which an instance with its business id {told['business_id']!r}"
        return f"{message} would start {which} is still running{_kept_until(told)}"
    return f"{message} would start a process of which an instance with this key is still running{_kept_until(told)}"


def _taken_by_process(told: Told, message: str) -> str:
    taken = f"process {told.get('process', '?')} already has {message}"
    through = _of(told, "instance", " through instance {}") + _of(told, "taken_at", " since {}")
    return f"{taken}{through}, and a process gets a message once{_kept_until(told)}"


def _given_back(told: Told, message: str) -> str:
    kept = _kept_until(told) or "; it is kept"
    return f"{_who(told)} gave {message} back{_of(told, 'why', ' ({})')}{kept}, for whoever waits next"


def _busy(told: Told, message: str) -> str:
    return f"the one who waits for {message} is just taking another message{_kept_until(told)}"


def _expired(why: str) -> Phrase:
    return lambda told, message: why.format(message) + _of(told, "deadline_at", " until its deadline {}")


def _never_offered(told: Told, message: str) -> str:
    """In an inbox it counts its attempts; elsewhere it is a matter of deployments."""
    if "attempts" in told:
        return f"{message} was never tried" + _of(told, "deadline_at", " until its deadline {}")
    deployed = f"the process that {message} could start was deployed later, and a deployment does not look at messages"
    return f"{deployed} that are already there; it was kept" + _of(told, "deadline_at", " until its deadline {}")


def _ttl_zero(told: Told, message: str) -> str:
    return f"nobody waited for {message} and its time to live is 0"


def _by_policy(told: Told, message: str) -> str:
    return f"nobody waited for {message} and the policy on_no_match says discard"


def _duplicate(told: Told, message: str) -> str:
    holder = _of(told, "first_message", "message {}, which") or "a message that"
    first = _of(told, "first_published_at", ", first published at {}")
    until = _of(told, "until_at", "; the id is free again at {}")
    if told.get("until_at") == "never":
        until = "; the id is never free again"
    answer = " (answered as if it were accepted)" if told.get("acknowledged") else ""
    return f"{message} has the id of {holder} is still remembered{first}{until}{answer}"


def _ambiguous(told: Told, message: str) -> str:
    count = told.get("count", "several")
    return f"{count} could take {message} and exactly one may: {_listed(told.get('candidates', ()))}"


def _refused_by_lock(told: Told, message: str) -> str:
    processes = _listed(told.get("processes", ()))
    return f"{message} would start process {processes}, of which an instance with this key is still running"


def _invalid(told: Told, message: str) -> str:
    if "field" not in told:
        return f"{message} cannot be used{_of(told, 'why', ': {}')}"
    value = _of(told, "value", " is {!r}")
    return f"{told['field']} of {message}{value}{_of(told, 'why', ': {}')}"


def _short(told: Told, message: str) -> str:
    return f"{message} was expected by {told.get('expected', '?')} receivers and taken by {told.get('got', '?')}"


def _attempted(what: str) -> Phrase:
    def phrase(told: Told, message: str) -> str:
        attempt = _of(told, "attempt", " (attempt {})") or _of(told, "attempts", " after {} attempts")
        error = _of(told, "error", ": {}") or _of(told, "last_error", ": {}")
        again = _of(told, "next_retry_at", "; tried again at {}")
        # What failed says it in a sentence of its own.
        return what.format(message) + attempt + error.rstrip().removesuffix(".") + again

    return phrase


_PHRASES: dict[tuple[str, str], Phrase] = {
    ("correlated", "waiting_instance"): _waiting_instance,
    ("correlated", "waiting_instance_later"): _waiting_later,
    ("correlated", "started_instance"): _started,
    ("correlated", "started_after_lock"): _started_after_lock,
    ("correlated", "given_back_and_taken"): _taken_after_refusal,
    ("correlated", "handed_over"): _handed_over,
    ("buffered", "nobody_waits"): _nobody_waits,
    ("buffered", "locked"): _behind_lock,
    ("buffered", "taken_by_process"): _taken_by_process,
    ("buffered", "given_back"): _given_back,
    ("buffered", "busy"): _busy,
    ("buffered", "handed_over"): _handed_over_to_keep,
    ("expired", "nobody_waited"): _expired("nobody waited for {}"),
    ("expired", "was_locked"): _expired("an instance with its key ran, so {} could not start another"),
    ("expired", "never_offered"): _never_offered,
    ("discarded", "ttl_zero"): _ttl_zero,
    ("discarded", "policy"): _by_policy,
    ("discarded", "deleted"): lambda told, message: f"somebody deleted {message} from the inbox",
    ("refused", "duplicate_id"): _duplicate,
    ("refused", "not_found"): lambda told, message: f"nobody waited for {message}, and it may not be kept",
    ("refused", "ambiguous"): _ambiguous,
    ("refused", "locked"): _refused_by_lock,
    ("refused", "invalid"): _invalid,
    ("refused", "forbidden"): _attempted("the sender may not publish {}"),
    ("refused", "wrong_tenant"): _attempted("the sender does not belong to the tenant of {}"),
    ("short", "fewer_than_expected"): _short,
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


def _other_name(miss: Told) -> str:
    differs = miss.get("differs")
    mend = "is one of the two names wrong?" if differs == "name" else f"the name differs in {differs}"
    return f"{_who(miss)} waits for {miss.get('name')!r} on the same key - {mend}"


def _other_business_id(miss: Told) -> str:
    if not miss.get("business_id"):
        return f"{_who(miss)} waits for it without a business id - send none to reach anybody"
    return f"{_who(miss)} waits for business id {miss['business_id']!r} - send that one, or none to reach anybody"


def _mended_key(miss: Told) -> str:
    differs = miss.get("differs", "key")
    if differs == "key":
        return "is one of the two keys wrong?"
    return "the same number, written in another way" if differs == "number" else f"the key differs in {differs}"


def _never_awaited(miss: Told) -> str:
    computed, similar = miss.get("computed"), miss.get("similar")
    unless = f", unless process {_listed(computed)} computes it" if computed else ""
    mend = f"did you mean {similar!r}?" if similar else "is it spelled right?"
    where = _of(miss, "tenant", " in tenant {!r}")
    return f"no process that is deployed{where} ever waits for this name{unless} - {mend}"


_NEAR_MISSES: dict[str, Callable[[Told], str]] = {
    "lock_held": lambda m: (
        f"instance {m.get('instance')} of process {m.get('process')} holds the key - it must end first"
    ),
    "business_id_held": lambda m: (
        f"instance {m.get('instance')} of process {m.get('process')} holds its business id - it must end first"
    ),
    "busy": lambda m: f"{_who(m)} waits for it but is just taking another message - it is free in a moment",
    "other_business_id": _other_business_id,
    "constraint": lambda m: f"{_who(m)} waits for it but the policy's constraint says no",
    "closed_before": lambda m: (
        f"{_who(m)} stopped waiting {duration(m.get('closed_ms_before'))} before it was published - it came too late"
    ),
    "other_name": _other_name,
    "other_tenant": lambda m: f"{_who(m)} waits for it in tenant {m.get('tenant')!r} - publish it there",
    "other_key": lambda m: f"{_who(m)} waits for it with key {m.get('key')!r} - {_mended_key(m)}",
    "expired_before": lambda m: (
        f"it was gone {duration(m.get('late_ms'))} before {_who(m)} began to wait -"
        " publish it with a longer time to live"
    ),
    "taken_by_process": lambda m: (
        f"process {m.get('process')} already has it through instance {m.get('instance')}"
        f"{_of(m, 'waiting_instance', ', so instance {} waits for another one')}"
    ),
    "never_awaited": _never_awaited,
    "incident": lambda m: (
        f"{_who(m)} should wait for it but does not because of incident {m.get('incident')}"
        f"{_of(m, 'text', ' ({})')} - mend the cause and resolve it"
    ),
}
