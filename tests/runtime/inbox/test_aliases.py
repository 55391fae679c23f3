"""The document's names of the settings."""

import pytest

from conjoin.runtime.inbox.configuration import ALIASES, read_settings, translate

# What the document prints as its example, and what it means here.
EXAMPLE = {
    "correlate": {
        "enabled": True,
        "channels": {"stream": {"channelEnabled": True, "message": {"timeToLiveAsString": "PT10S"}}},
        "batch": {
            "mode": "all",
            "query": {"pollInitialDelay": "PT10S", "pollInterval": "PT6S"},
            "cleanup": {"pollInitialDelay": "PT1M", "pollInterval": "PT1M"},
            "cluster": {"enabled": True, "queuePollLockMostInterval": "PT5M"},
        },
        "persistence": {"messageMaxRetries": 100, "messageFetchPageSize": 100, "messageBatchSize": 1},
        "retry": {"retryMaxBackoffMinutes": 5, "retryBackoffBase": 2.0},
        "message": {"timeToLiveAsString": "PT10S", "payloadEncoding": "jackson"},
    }
}
MEANING = {
    "enabled": True,
    "mode": "all",
    "poll_initial_delay": 10_000,
    "poll_interval": 6_000,
    "cleanup_initial_delay": 60_000,
    "cleanup_interval": 60_000,
    "cluster": True,
    "lock_at_most": 300_000,
    "max_attempts": 100,
    "page_size": 100,
    "batch_size": 1,
    "backoff_cap": 300_000,
    "backoff_base": 2.0,
    "grace": 10_000,
    "encoding": "json",
}


def test_the_documents_own_example_is_understood() -> None:
    translated, twice = translate(EXAMPLE)
    channels = translated.pop("channels")
    settings, problems = read_settings("conjoin", translated)
    assert (twice, problems) == ([], [])
    assert channels == EXAMPLE["correlate"]["channels"]
    assert {name: getattr(settings, name) for name in MEANING} == MEANING


def test_every_alias_is_in_the_example() -> None:
    assert set(ALIASES.values()) <= set(MEANING)


@pytest.mark.parametrize("prefix", ["", "correlate."])
@pytest.mark.parametrize("alias", list(ALIASES))
def test_an_alias_is_known_dotted_with_and_without_the_prefix(alias: str, prefix: str) -> None:
    assert translate({prefix + alias: "x"}) == ({ALIASES[alias]: "x"}, [])


@pytest.mark.parametrize("name", ["batch.query.poll-interval", "BATCH.QUERY.POLLINTERVAL", "batch.query.poll_interval"])
def test_an_alias_is_known_however_spring_boot_lets_people_write_it(name: str) -> None:
    assert translate({name: "PT6S"}) == ({"poll_interval": "PT6S"}, [])


@pytest.mark.parametrize(
    ("written", "cap_ms"), [(5, 300_000), ("5", 300_000), (" 180 ", 10_800_000), ("PT5M", 300_000)]
)
def test_the_cap_of_the_document_is_in_minutes(written: object, cap_ms: int) -> None:
    translated, _ = translate({"retry": {"retryMaxBackoffMinutes": written}})
    settings, problems = read_settings("conjoin", translated)
    assert (settings.backoff_cap, problems) == (cap_ms, [])


@pytest.mark.parametrize("written", [True, 2.5, None, "long", -5])
def test_a_cap_that_is_no_number_of_minutes_is_a_problem(written: object) -> None:
    translated, _ = translate({"retry.retryMaxBackoffMinutes": written})
    assert len(read_settings("conjoin", translated)[1]) == 1


def test_our_own_names_may_stand_among_the_documents() -> None:
    assert translate({"poll_interval": "6s", "batch": {"mode": "all"}}) == ({"poll_interval": "6s", "mode": "all"}, [])


def test_a_setting_that_is_given_twice_is_a_problem_that_names_both() -> None:
    _, problems = translate({"mode": "all", "batch": {"mode": "fail_first"}})
    assert problems == ["mode: is set twice, as mode and as batch.mode"]


def test_a_name_that_nobody_knows_is_told_by_whoever_reads_the_settings() -> None:
    translated, _ = translate({"batch": {"query": {"pollIntervall": "PT6S"}}, "colour": {"a": 1}})
    _, problems = read_settings("conjoin", translated)
    assert [problem.split(":")[0] for problem in problems] == ["batch.query.pollIntervall", "colour"]
