"""Sentences: a verdict as one plain English sentence, made from its reason and the reason's parameters.

The parameters are those of `verdicts.parameters`, as they are or read back from JSON (instants are then ISO text).
A parameter that is missing never hurts: the sentence is shorter by it. Nothing here decides anything.
"""

from collections.abc import Callable

from conjoin.kernel.verdicts.near_miss_sentences import near_miss
from conjoin.kernel.verdicts.words import Parameters, duration, listed, of, who

Phrase = Callable[[Parameters, str], str]


def sentence(verdict: str, reason: str, parameters: Parameters, name: str = "", key: str = "") -> str:
    """What became of a message with this name and key, why, and what came nearest to taking it."""
    phrase = PHRASES.get((verdict, reason))
    what = phrase(parameters, _message(name, key)) if phrase else reason.replace("_", " ")
    nearest = _nearest(parameters)
    text = f"{verdict.capitalize()}: {what}{'; ' + nearest if nearest else ''}"
    return text if text.endswith(".") or nearest.endswith("?") else f"{text}."


def _message(name: str, key: str) -> str:
    if not name:
        return f"a message with key {key!r}" if key else "this message"
    return f"{name!r} with key {key!r}" if key else f"{name!r} without a key"


def _nearest(given: Parameters) -> str:
    misses = given.get("near_misses") or ()
    after = given.get("next_subscription")
    if after:
        late = duration(after.get("late_ms"))
        return f"{who(after)} began to wait {late} after the deadline - a longer time to live mends it"
    return near_miss(misses[0]) if misses else ""


def _waiting_later(given: Parameters, message: str) -> str:
    waited = f" {duration(given['waited_ms'])} after it was published" if "waited_ms" in given else ""
    return f"{message} came early and was kept; {who(given)} took it{waited}"


def _taken_after_refusal(given: Parameters, message: str) -> str:
    first = of(given, "first_instance", "instance {} gave it back") or "the first receiver gave it back"
    return f"{first}{of(given, 'why', ' ({})')}, then {who(given)} took {message}"


def _handed_over(given: Parameters, message: str) -> str:
    taken = of(given, "target", ", where {} has it") or ", which does not say who took it"
    return f"{message} was handed over to {given.get('system') or 'our own engine'}{taken}"


def _kept_until(given: Parameters) -> str:
    until = given.get("deadline_at")
    if until == "never":
        return "; it is kept for ever"
    return of(given, "deadline_at", "; it is kept until {}")


def _behind_lock(given: Parameters, message: str) -> str:
    if given.get("business_id"):
        which = (
            f"process {given.get('process', '?')}, of which an instance with its business id {given['business_id']!r}"
        )
        return f"{message} would start {which} is still running{_kept_until(given)}"
    return f"{message} would start a process of which an instance with this key is still running{_kept_until(given)}"


def _taken_by_process(given: Parameters, message: str) -> str:
    taken = f"process {given.get('process', '?')} already has {message}"
    through = of(given, "instance", " through instance {}") + of(given, "taken_at", " since {}")
    return f"{taken}{through}, and a process gets a message once{_kept_until(given)}"


def _expired(why: str) -> Phrase:
    return lambda given, message: why.format(message) + of(given, "deadline_at", " until its deadline {}")


def _never_offered(given: Parameters, message: str) -> str:
    """In an inbox it counts its attempts; elsewhere it is a matter of deployments."""
    if "attempts" in given:
        return f"{message} was never tried" + of(given, "deadline_at", " until its deadline {}")
    deployed = f"the process that {message} could start was deployed later, and a deployment does not look at messages"
    return f"{deployed} that are already there; it was kept" + of(given, "deadline_at", " until its deadline {}")


def _duplicate(given: Parameters, message: str) -> str:
    holder = of(given, "first_message", "message {}, which") or "a message that"
    first = of(given, "first_published_at", ", first published at {}")
    until = of(given, "until_at", "; the id is free again at {}")
    if given.get("until_at") == "never":
        until = "; the id is never free again"
    answer = " (answered as if it were accepted)" if given.get("acknowledged") else ""
    return f"{message} has the id of {holder} is still remembered{first}{until}{answer}"


def _invalid(given: Parameters, message: str) -> str:
    if "field" not in given:
        return f"{message} cannot be used{of(given, 'why', ': {}')}"
    value = of(given, "value", " is {!r}")
    return f"{given['field']} of {message}{value}{of(given, 'why', ': {}')}"


def _attempted(what: str) -> Phrase:
    def phrase(given: Parameters, message: str) -> str:
        attempt = of(given, "attempt", " (attempt {})") or of(given, "attempts", " after {} attempts")
        error = of(given, "error", ": {}") or of(given, "last_error", ": {}")
        again = of(given, "next_retry_at", "; tried again at {}")
        # What failed says it in a sentence of its own.
        return what.format(message) + attempt + error.rstrip().removesuffix(".") + again

    return phrase


PHRASES: dict[tuple[str, str], Phrase] = {
    ("correlated", "waiting_instance"): lambda given, message: (
        f"{message} was taken in an earlier run by process {listed(given.get('processes', ()))}"
        if given.get("earlier_run")
        else f"{who(given)} was already waiting for {message}"
    ),
    ("correlated", "waiting_instance_later"): _waiting_later,
    ("correlated", "started_instance"): lambda given, message: f"{message} started {who(given)}",
    ("correlated", "started_after_lock"): lambda given, message: (
        f"{message} waited behind a running instance of the same key and started {who(given)}"
        f"{of(given, 'freed_by', ' when instance {} had ended')}"
    ),
    ("correlated", "given_back_and_taken"): _taken_after_refusal,
    ("correlated", "handed_over"): _handed_over,
    ("buffered", "nobody_waits"): lambda given, message: f"nobody waits for {message} yet{_kept_until(given)}",
    ("buffered", "locked"): _behind_lock,
    ("buffered", "taken_by_process"): _taken_by_process,
    ("buffered", "given_back"): lambda given, message: (
        f"{who(given)} gave {message} back{of(given, 'why', ' ({})')}{_kept_until(given) or '; it is kept'},"
        " for whoever waits next"
    ),
    ("buffered", "busy"): lambda given, message: (
        f"the one who waits for {message} is just taking another message{_kept_until(given)}"
    ),
    ("buffered", "handed_over"): lambda given, message: (
        f"{message} was handed over to {given.get('system') or 'our own engine'} and is kept there"
        f"{of(given, 'target', ' as {}')}, for whoever waits for it"
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
        f" {listed(given.get('candidates', ()))}"
    ),
    ("refused", "locked"): lambda given, message: (
        f"{message} would start process {listed(given.get('processes', ()))},"
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
