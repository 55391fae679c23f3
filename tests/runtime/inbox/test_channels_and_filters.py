"""Channels and their filters, as a configuration file holds them."""

import pickle

import pytest

from conjoin.kernel.inbox.channels import EVERYTHING, Channel
from conjoin.kernel.inbox.message import MessageType
from conjoin.runtime.inbox.configuration import read_channels, read_filter

PAID, SENT, TEST = (MessageType("orders", name) for name in ("Paid", "Sent", "Test"))
OTHER, NAMELESS = MessageType("stock", "Paid"), MessageType()
ALL = (PAID, SENT, TEST, OTHER, NAMELESS)


@pytest.mark.parametrize(
    ("written", "accepted"),
    [
        ("all", ALL),
        (None, ALL),
        ({"types": ["orders.Paid", "stock.Paid"]}, (PAID, OTHER)),
        ({"types": "orders.Paid"}, (PAID,)),
        ({"types": ["Paid"]}, ()),
        ({"types": ["orders.*"]}, (PAID, SENT, TEST)),
        ({"not": {"types": ["orders.Paid"]}}, (SENT, TEST, OTHER, NAMELESS)),
        ({"or": [{"types": ["orders.Paid"]}, {"types": ["stock.*"]}]}, (PAID, OTHER)),
        ({"and": [{"types": ["orders.*"]}, {"not": {"types": ["orders.Test"]}}]}, (PAID, SENT)),
        ({"not": "all"}, ()),
    ],
)
def test_a_filter_lets_through_what_it_names(written: object, accepted: tuple[MessageType, ...]) -> None:
    filter_, problems = read_filter(written)
    assert problems == []
    assert tuple(type_ for type_ in ALL if filter_.accepts(type_)) == accepted
    assert pickle.loads(pickle.dumps(filter_)) == filter_


@pytest.mark.parametrize(
    ("written", "where"),
    [
        ("some", "filter"),
        (7, "filter"),
        ([], "filter"),
        ({}, "filter"),
        ({"types": ["a"], "not": "all"}, "filter"),
        ({"typos": ["a"]}, "filter.typos"),
        ({"types": []}, "filter.types"),
        ({"types": ["a", 7]}, "filter.types"),
        ({"types": [" "]}, "filter.types"),
        ({"and": []}, "filter.and"),
        ({"or": {"types": ["a"]}}, "filter.or"),
        ({"and": [{"types": ["a"]}, {"not": {"x": 1}}]}, "filter.and[1].not.x"),
    ],
)
def test_a_bad_filter_is_a_problem_with_its_place(written: object, where: str) -> None:
    _, problems = read_filter(written)
    assert [problem.split(": ")[0] for problem in problems] == [where]


def test_a_filter_without_end_is_a_problem_and_no_crash() -> None:
    written: object = "all"
    for _ in range(100_000):
        written = {"not": written}
    _, problems = read_filter(written)
    assert len(problems) == 1


@pytest.mark.parametrize(
    "written",
    [
        {"enabled": False, "type": "kafka", "properties": {"topic": "t"}, "grace": "10s", "encoding": "avro"},
        {
            **{"channelEnabled": "false", "channel-type": "kafka", "properties": {"topic": "t"}},
            "message": {"timeToLiveAsString": "PT10S", "payloadEncoding": "avro"},
        },
    ],
)
def test_a_channel_is_read_in_our_words_and_in_the_documents(written: object) -> None:
    channels, problems = read_channels({"orders": written})
    assert problems == []
    assert channels == {
        "orders": Channel("orders", False, "kafka", {"topic": "t"}, EVERYTHING, grace=10_000, encoding="avro")
    }


def test_a_channel_without_settings_takes_everything_as_the_settings_say() -> None:
    assert read_channels({"orders": {}}) == ({"orders": Channel("orders")}, [])
    assert read_channels(None) == ({}, [])


def test_the_mapping_of_a_channel_is_handed_on_as_it_is_written() -> None:
    channels, problems = read_channels({"orders": {"mapping": {"name": "= type"}}, "b": {"mapping": "= type"}})
    assert channels["orders"].mapping == {"name": "= type"}
    assert problems == ["channels.b.mapping: '= type' is not a table"]


def test_every_problem_of_all_channels_is_told_with_its_place() -> None:
    written = {
        "a": {"enabled": "perhaps", "colour": 1, "filter": {"types": []}},
        "b": 7,
        "c": {"type": 1, "properties": [], "message": {"timeToLiveAsString": "soon"}, "expiration": -1, "encoding": ""},
    }
    _, problems = read_channels(written)
    assert [problem.split(": ")[0] for problem in problems] == [
        *("channels.a.enabled", "channels.a.colour", "channels.a.filter.types", "channels.b", "channels.c.type"),
        *("channels.c.properties", "channels.c.message.timeToLiveAsString"),
        *("channels.c.expiration", "channels.c.encoding"),
    ]
    assert len(read_channels([])[1]) == 1
