"""Near misses as sentences: where each is, what speaks for it, and what mends it. Nothing here decides anything."""

from collections.abc import Callable

from conjoin.kernel.verdicts.words import Parameters, duration, listed, of, who


def near_miss(miss: Parameters) -> str:
    """One near miss: where it is, and what would mend it."""
    phrase = _NEAR_MISSES.get(str(miss.get("kind")))
    return phrase(miss) if phrase else str(miss.get("kind", "")).replace("_", " ")


def _other_name(miss: Parameters) -> str:
    differs = miss.get("differs")
    if differs == "version":
        runs = f"{who(miss)} runs on version {miss.get('version')} and waits for {miss.get('name')!r} on the same key"
        return f"{runs} - it is version {miss.get('other_version')} that waits for this name"
    mend = {"name": "is one of the two names wrong?", "spelling": "is one of the two misspelled?"}.get(
        str(differs), f"the name differs in {differs}"
    )
    return f"{who(miss)} waits for {miss.get('name')!r} on the same key - {mend}"


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
    return f"{who(miss)} waits for {named} with key {miss.get('key')!r} - {mend}"


def _never_awaited(miss: Parameters) -> str:
    computed, similar = miss.get("computed"), miss.get("similar")
    unless = f", unless process {listed(computed)} computes it" if computed else ""
    mend = f"did you mean {similar!r}?" if similar else "is it spelled right?"
    where = of(miss, "tenant", " in tenant {!r}")
    return f"no process that is deployed{where} ever waits for this name{unless} - {mend}"


def _holder(miss: Parameters, what: str) -> str:
    """Who holds it, since when, and where it stands."""
    at = listed([repr(it) for it in miss.get("at") or ()])
    stands = f", now at {at}" if at else ""
    since = of(miss, "since_at", " since {}")
    return f"instance {miss.get('instance')} of process {miss.get('process')} holds {what}{since}{stands}"


_NEAR_MISSES: dict[str, Callable[[Parameters], str]] = {
    "lock_held": lambda m: f"{_holder(m, 'the key')} - it must end first",
    "business_id_held": lambda m: f"{_holder(m, 'its business id')} - it must end first",
    "busy": lambda m: f"{who(m)} waits for it but is just taking another message - it is free in a moment",
    "other_business_id": lambda m: (
        f"{who(m)} waits for business id {m['business_id']!r} - send that one, or none to reach anybody"
        if m.get("business_id")
        else f"{who(m)} waits for it without a business id - send none to reach anybody"
    ),
    "constraint": lambda m: f"{who(m)} waits for it but the policy's constraint says no",
    "closed_before": lambda m: (
        f"{who(m)} stopped waiting {duration(m.get('closed_ms_before'))} before it was published - it came too late"
    ),
    "other_name": _other_name,
    "other_tenant": lambda m: f"{who(m)} waits for it in tenant {m.get('tenant')!r} - publish it there",
    "other_key": _other_key,
    "expired_before": lambda m: (
        f"it was gone {duration(m.get('late_ms'))} before {who(m)} began to wait -"
        " publish it with a longer time to live"
    ),
    "taken_by_process": lambda m: (
        f"process {m.get('process')} already has it through instance {m.get('instance')}"
        f"{of(m, 'waiting_instance', ', so instance {} waits for another one')}"
    ),
    "never_awaited": _never_awaited,
    "too_early": _too_early,
    "incident": lambda m: (
        f"{who(m)} should wait for it but does not because of incident {m.get('incident')}"
        f"{of(m, 'text', ' ({})')} - mend the cause and resolve it"
    ),
}
