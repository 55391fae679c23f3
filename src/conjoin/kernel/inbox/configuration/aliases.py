"""The names that the document on scheduled batch processing gives the settings, and ours for them.

A configuration may be nested (`correlate: batch: query: pollInterval`) or dotted, with `correlate.` in front or not,
and its names may be written as Spring Boot lets people write them (`poll-interval`). Channels are handed on as they
are. Nothing is checked here but that no setting is given twice.
"""

from collections.abc import Iterator, Mapping

from conjoin.kernel.inbox.configuration.reading import NAMES

CHANNELS = "channels"
_ROOT = "correlate"

ALIASES: dict[str, str] = {
    "batch.mode": "mode",
    "batch.query.pollInterval": "poll_interval",
    "batch.query.pollInitialDelay": "poll_initial_delay",
    "batch.cleanup.pollInterval": "cleanup_interval",
    "batch.cleanup.pollInitialDelay": "cleanup_initial_delay",
    "batch.cluster.enabled": "cluster",
    "batch.cluster.queuePollLockMostInterval": "lock_at_most",
    "persistence.messageBatchSize": "batch_size",
    "persistence.messageFetchPageSize": "page_size",
    "persistence.messageMaxRetries": "max_attempts",
    "retry.retryBackoffBase": "backoff_base",
    "retry.retryMaxBackoffMinutes": "backoff_cap",
    "message.timeToLiveAsString": "grace",
    "message.payloadEncoding": "encoding",
}


def relaxed(name: str) -> str:
    """A name as it is compared: capitals, `-` and `_` make no difference."""
    return name.lower().replace("-", "").replace("_", "")


_BY_RELAXED_NAME = {relaxed(alias): name for alias, name in ALIASES.items()}
_IN_MINUTES = relaxed("retry.retryMaxBackoffMinutes")


def translate(configuration: Mapping[str, object]) -> tuple[dict[str, object], list[str]]:
    """Our names for everything that is set, and what is set twice. What has no other name keeps its own."""
    settings: dict[str, object] = {}
    written_as: dict[str, str] = {}
    problems: list[str] = []
    for path, value in _leaves(configuration, ""):
        name, translated = _translated(path, value)
        if name in settings:
            problems.append(f"{name}: is set twice, as {written_as[name]} and as {path}")
        else:
            settings[name], written_as[name] = translated, path
    return settings, problems


def _leaves(table: Mapping[str, object], above: str) -> Iterator[tuple[str, object]]:
    """Every value with its dotted path. Tables are opened only where a name of ours can lie inside."""
    for key, value in table.items():
        path = f"{above}.{key}" if above else str(key)
        if isinstance(value, Mapping) and _is_opened(path):
            yield from _leaves(value, path)
        else:
            yield path, value


def _is_opened(path: str) -> bool:
    inner = relaxed(path).removeprefix(f"{_ROOT}.")
    return inner == _ROOT or any(alias.startswith(f"{inner}.") for alias in _BY_RELAXED_NAME)


def _translated(path: str, value: object) -> tuple[str, object]:
    name = path.removeprefix(f"{_ROOT}.")
    if name in NAMES or name == CHANNELS:
        return name, value
    loose = relaxed(name)
    if loose == _IN_MINUTES:
        return "backoff_cap", _minutes(value)
    return _BY_RELAXED_NAME.get(loose, name), value


def _minutes(value: object) -> object:
    """Minutes as a duration. What is none stays as it is, and is told by whoever reads it."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value * 60_000
    return f"{value.strip()}m" if isinstance(value, str) and value.strip().isdecimal() else value
