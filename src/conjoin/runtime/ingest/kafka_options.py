"""Options of Kafka's connector: what is given is passed on, and these are the defaults. Spark is not imported here.

Whatever begins with `kafka.` is for Kafka's own client: TLS, SASL and all else that it knows. A file of properties, as
Kafka's tools take it, has the same without that beginning; it keeps passwords from the list of processes.
"""

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path

from conjoin.errors import InputError

SERVERS = "kafka.bootstrap.servers"
WHICH = ("subscribe", "subscribePattern", "assign")
"""What is read: topics, those that a pattern finds, or partitions."""
OFFSETS_AT_ONCE = 200_000
FAIL_ON_LOSS = "failOnDataLoss"
_OF_CLIENT = "kafka."
_DEFAULTS = {
    # A record of a transaction that was aborted was never sent.
    "kafka.isolation.level": "read_committed",
    # All of it; how far it was read is known to the checkpoint, and to the store.
    "startingOffsets": "earliest",
    "includeHeaders": "true",
}
_OF_STREAMS = {
    "maxOffsetsPerTrigger": str(OFFSETS_AT_ONCE),
    # What the broker has deleted cannot be waited for; a stopped stream would lose more.
    FAIL_ON_LOSS: "false",
}
_BEGINNINGS = ("startingTimestamp", "startingOffsetsByTimestamp")
"""Instead of `startingOffsets`."""
_KNOWN = (
    *(*WHICH, *_BEGINNINGS, "startingOffsets", "startingOffsetsByTimestampStrategy", FAIL_ON_LOSS, "includeHeaders"),
    *("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp", "minPartitions", "maxRecordsPerPartition"),
    *("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay", "groupIdPrefix"),
    *("kafkaConsumer.pollTimeoutMs", "fetchOffset.numRetries", "fetchOffset.retryIntervalMs"),
)
_SPELLED = {name.lower(): name for name in _KNOWN}
# Spark sets these itself, and says so only when a task runs.
_NOT_OURS = {
    "kafka.auto.offset.reset": "say startingOffsets instead",
    "kafka.key.deserializer": "keys are bytes",
    "kafka.value.deserializer": "values are bytes: say in the mapping what they are",
    "kafka.enable.auto.commit": "the store knows how far it was read",
    "kafka.interceptor.classes": "Spark allows none",
}


def kafka_options(given: Mapping[str, str], *, is_stream: bool = True) -> dict[str, str]:
    """All options of a reader. Raises `InputError` with everything that is wrong with those given."""
    problems = list(kafka_problems(given))
    if problems:
        raise InputError(problems)
    mine = {_SPELLED.get(name.lower(), name): value for name, value in given.items()}
    options = _DEFAULTS | (_OF_STREAMS if is_stream else {})
    if any(name in mine for name in _BEGINNINGS):
        options.pop("startingOffsets")
    return options | mine


def kafka_problems(given: Mapping[str, str]) -> Iterator[str]:
    named = {_SPELLED.get(name.lower(), name) for name in given}
    if not given.get(SERVERS):
        yield f"Kafka's servers are missing: {SERVERS}, such as localhost:9092"
    which = [name for name in WHICH if name in named]
    if len(which) != 1:
        yield f"say what is read of Kafka, by one of {', '.join(WHICH)}" + (
            f", not {' and '.join(which)}" if which else ""
        )
    for name in given:
        if name.lower() in _NOT_OURS:
            yield f"{name}: {_NOT_OURS[name.lower()]}"
        elif not name.startswith(_OF_CLIENT) and name.lower() not in _SPELLED:
            near = get_close_matches(name, _KNOWN, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; options of Kafka's client begin with {_OF_CLIENT}"
            yield f"{name}: there is no such option of Spark's connector{hint}"


def read_option(text: str) -> tuple[str, str]:
    """NAME=VALUE."""
    name, is_there, value = text.partition("=")
    if not name.strip() or not is_there:
        # The value may be a password, and is not repeated.
        raise InputError(["--option: write it as NAME=VALUE, such as kafka.security.protocol=SASL_SSL"])
    return name.strip(), value


def read_properties(path: Path) -> dict[str, str]:
    """The options that a file of Kafka's properties stands for."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError([f"{path}: {error.strerror}"]) from None
    except UnicodeDecodeError:
        raise InputError([f"{path}: is not UTF-8"]) from None
    found, problems = {}, []
    for number, line in _logical_lines(text.splitlines()):
        name, value = _property(line)
        if not name:
            problems.append(f"{path}:{number}: write it as name=value")
        found[name if name.startswith(_OF_CLIENT) else f"{_OF_CLIENT}{name}"] = value
    if problems:
        raise InputError(problems)
    return found


def _logical_lines(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Without comments; one that ends with a backslash goes on in the next, as in all files of properties."""
    begun, first = "", 0
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not begun and (not text or text[0] in "#!"):
            continue
        first = first if begun else number
        if text.endswith("\\"):
            begun += text.removesuffix("\\")
            continue
        yield first, begun + text
        begun = ""
    if begun:
        yield first, begun


def _property(line: str) -> tuple[str, str]:
    """At the first = or :, whichever comes first."""
    at = min((place for sign in "=:" if (place := line.find(sign)) >= 0), default=-1)
    return ("", "") if at < 1 else (line[:at].strip(), line[at + 1 :].strip())
