"""The inbox's part of a configuration file, in our names and the document's; what is wrong with it is told at once."""

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from conjoin.errors import SettingsError
from conjoin.kernel.inbox import PRESETS
from conjoin.kernel.inbox.channels import Channel
from conjoin.runtime.inbox.configuration import ALIASES, NAMES, read_configuration, read_inbox, read_settings

OURS = """
preset = "correlate-docs"
poll_interval = "3s"
mode = "fail_first"
order = "= seq"

[channels.orders]
type = "kafka"
grace = "10s"
filter = { types = ["orders.*"] }

[channels.legacy]
target = "camunda-7"
enabled = false

[targets.camunda-7]
url = "http://127.0.0.1:8080/engine-rest"
"""
THEIRS = """
[correlate.batch]
mode = "all"
query.pollInterval = "PT3S"

[correlate.retry]
retryMaxBackoffMinutes = 10

[correlate.channels.orders]
channelType = "kafka"
message.timeToLiveAsString = "PT10S"
"""


def test_settings_and_channels_are_read() -> None:
    settings, channels = read_inbox(tomllib.loads(OURS))
    assert (settings.poll_interval, settings.mode, settings.order) == (3_000, "fail_first", "= seq")
    assert settings.page_size == PRESETS["correlate-docs"].page_size
    assert (channels["orders"].type, channels["orders"].grace, channels["orders"].target) == ("kafka", 10_000, "")
    assert (channels["legacy"].target, channels["legacy"].enabled) == ("camunda-7", False)


def test_the_names_of_the_document_are_understood() -> None:
    settings, channels = read_inbox(tomllib.loads(THEIRS))
    assert (settings.mode, settings.poll_interval, settings.backoff_cap) == ("all", 3_000, 600_000)
    assert (channels["orders"].type, channels["orders"].grace) == ("kafka", 10_000)


DOCUMENTS_OWN = """
[correlate]
enabled = true
[correlate.channels.stream]
channelEnabled = false
channelType = "stream"
properties = { topic = "t" }
message = { timeToLiveAsString = "PT10S", payloadEncoding = "avro" }
[correlate.batch]
mode = "fail_first"
query = { pollInitialDelay = "PT1S", pollInterval = "PT2S" }
cleanup = { pollInitialDelay = "PT3S", pollInterval = "PT4S" }
cluster = { enabled = false, queuePollLockMostInterval = "PT5S" }
[correlate.persistence]
messageMaxRetries = 6
messageFetchPageSize = 7
messageBatchSize = 8
[correlate.retry]
retryMaxBackoffMinutes = 9
retryBackoffBase = 10.5
[correlate.message]
timeToLiveAsString = "PT11S"
payloadEncoding = "jackson"
"""


def test_every_setting_of_the_document_is_read_from_a_file_under_its_own_name() -> None:
    """Each with another value than the default's, so that none is passed over."""
    settings, channels = read_inbox(tomllib.loads(DOCUMENTS_OWN))
    assert settings == replace(
        PRESETS["conjoin"],
        **{"poll_initial_delay": 1_000, "poll_interval": 2_000, "cleanup_initial_delay": 3_000},
        **{"cleanup_interval": 4_000, "cluster": False, "lock_at_most": 5_000, "max_attempts": 6, "page_size": 7},
        **{"batch_size": 8, "backoff_cap": 540_000, "backoff_base": 10.5, "grace": 11_000},
    )
    stream = Channel("stream", False, "stream", {"topic": "t"}, grace=10_000, encoding="avro")
    assert channels == {"stream": stream}


def test_problems_of_settings_channels_mappings_and_targets_are_told_together() -> None:
    section = {
        "mode": "some",
        "channels": {"orders": {"mapping": {"nam": "x", "key": "= 1 +", "grace": [], "only": "yes"}}},
        "targets": {"a": 7, "erp": {"kind": "camunda7", "url": "http://erp", "token": "$NO_SUCH"}},
    }
    with pytest.raises(SettingsError) as caught:
        read_configuration(section, {})
    assert [problem.split(": ")[1] for problem in caught.value.problems] == [
        *("mode", "channels.orders.mapping.nam", "channels.orders.mapping.key", "channels.orders.mapping.grace"),
        *("channels.orders.mapping.only", "targets.a", "targets.erp.token"),
    ]


def test_targets_are_made_with_the_secrets_of_the_environment() -> None:
    table = {"kind": "camunda8", "url": "http://127.0.0.1:8080", "token": "$TOKEN"}
    section = {"channels": {"orders": {"target": "zeebe"}}, "targets": {"zeebe": table}}
    configuration = read_configuration(section, {"TOKEN": "t"})
    assert (list(configuration.targets), configuration.channels["orders"].target) == (["zeebe"], "zeebe")


def test_nothing_at_all_is_our_own_preset() -> None:
    assert read_inbox({}) == (PRESETS["conjoin"], {})


def test_everything_that_is_wrong_is_told_at_once() -> None:
    section = {
        "preset": "camunda",
        "mode": "some",
        "poll_intervall": "6s",
        "order": "= 1 +",
        "channels": {"orders": {"target": "nowhere", "colour": "red"}},
    }
    with pytest.raises(SettingsError) as caught:
        read_inbox(section)
    problems = str(caught.value)
    for part in (
        *("inbox: preset: 'camunda' is none of", "mode: 'some' is none of", "did you mean 'poll_interval'"),
        *("order: ", "channels.orders.target: there is no target 'nowhere'", "channels.orders.colour"),
    ):
        assert part in problems
    assert len(caught.value.problems) == 6


@pytest.mark.parametrize("section", [{"targets": []}, {"channels": 7}, {"channels": {"a": 7}}])
def test_what_is_no_table_is_told(section: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match="is not a table"):
        read_inbox(section)


def test_the_page_of_the_inbox_gives_every_setting_with_its_alias_and_its_defaults() -> None:
    page = (Path(__file__).parents[3] / "docs" / "inbox.md").read_text(encoding="utf-8").split("\n## Settings")[1]
    rows = [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in page.splitlines()]
    told = {row[0]: row[1:5] for row in rows if len(row) == 6 and row[0] in NAMES}
    assert tuple(told) == NAMES
    assert {alias: name for name, (alias, *_) in told.items() if alias and alias != name} == ALIASES
    for number, (preset, settings) in enumerate(PRESETS.items(), 1):
        values = {name: True if row[number] == "true" else row[number] for name, row in told.items()}
        assert read_settings(preset, values) == (settings, [])
        assert read_settings("conjoin", values) == (settings, [])
