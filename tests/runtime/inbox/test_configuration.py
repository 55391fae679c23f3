"""The inbox's part of a configuration file, in our names and the document's; what is wrong with it is told at once."""

import tomllib

import pytest

from conjoin.errors import SettingsError
from conjoin.kernel.inbox import PRESETS
from conjoin.runtime.inbox.configuration import read_inbox

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
