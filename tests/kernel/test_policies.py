"""Policies: the table of the specification, and every problem of a setting at once."""

import pytest

from conjoin.kernel.policies import CHOICES, PROFILES, Policies, Policy, read_policies
from conjoin.times.durations import read_duration_ms

TABLE = {
    "cardinality": ("once_per_process", "exactly_one", "exactly_one"),
    "on_no_match": ("buffer", "retry", "reject"),
    "duplicate_subscription": ("allow", "allow", "reject"),
    "dedup": ("while_buffered", 7 * 24 * 3_600_000, "off"),
    "on_duplicate": ("refuse", "acknowledge", "refuse"),
    "start_uniqueness": ("per_key", "none", "none"),
    "start_precedence": ("both", "subscription_first", "subscription_first"),
    "time_to_live": (0, None, 0),
    "grace": (None, 10_000, None),
    "expected": (None, None, None),
    "match": ("key", "variables", "key"),
    "constraint": (None, None, None),
}
"""`policies.md`: by policy, the answers of zeebe, correlate and fleans."""


@pytest.mark.parametrize("question", list(TABLE))
def test_the_profiles_answer_as_the_table_says(question: str) -> None:
    answers = tuple(getattr(PROFILES[profile], question) for profile in ("zeebe", "correlate", "fleans"))
    assert answers == TABLE[question]


def test_there_are_four_profiles_and_twelve_questions() -> None:
    assert list(PROFILES) == ["zeebe", "zeebe-0.2x", "correlate", "fleans"]
    assert {name for name in Policy.__dataclass_fields__ if name != "keeps"} == set(TABLE)


@pytest.mark.parametrize(("question", "answer"), [(q, answer) for q, choices in CHOICES.items() for answer in choices])
def test_every_choice_can_be_set(question: str, answer: str) -> None:
    policies, problems = read_policies("zeebe", {"*": {question: answer}})
    assert problems == []
    assert getattr(policies.default, question) == answer


GOOD = [
    ("dedup", "while_buffered", "while_buffered"),
    ("dedup", "off", "off"),
    ("dedup", "7d", 604_800_000),
    ("dedup", 1500, 1500),
    ("time_to_live", "none", None),
    ("time_to_live", None, None),
    ("time_to_live", 0, 0),
    ("time_to_live", "1h", 3_600_000),
    ("grace", "10s", 10_000),
    ("grace", "none", None),
    ("expected", "off", None),
    ("expected", 3, 3),
    ("constraint", "off", None),
    ("constraint", None, None),
]


@pytest.mark.parametrize(("question", "value", "read"), GOOD)
def test_a_good_value_is_read(question: str, value: object, read: object) -> None:
    policies, problems = read_policies("zeebe", {"paid": {question: value}})
    assert problems == []
    assert getattr(policies.of("paid"), question) == read


BAD = [
    *((question, "perhaps") for question in CHOICES),
    *((question, None) for question in CHOICES),
    *((question, ["key"]) for question in CHOICES),
    *(("dedup", value) for value in ("soon", 0, -1, True, None, 1.5, "0s", "7 days")),
    *(("time_to_live", value) for value in ("soon", True, 1.5, "1w", [], "-5")),
    *(("grace", value) for value in ("soon", False, 1.5, -1)),
    *(("expected", value) for value in (0, -1, True, 1.5, "many", "2")),
    *(("constraint", value) for value in ("= a > b", 7)),
    *(("keeps", value) for value in (True, "buffer")),
    ("cardinalty", "all"),
]


@pytest.mark.parametrize(("question", "value"), BAD)
def test_a_bad_value_is_one_problem_that_names_where_it_stands(question: str, value: object) -> None:
    policies, problems = read_policies("zeebe", {"paid": {question: value}})
    assert len(problems) == 1
    assert problems[0].startswith(f"policy 'paid': {question}: ")
    assert policies.of("paid") == PROFILES["zeebe"]


def test_every_problem_is_reported_at_once() -> None:
    changes: dict[str, dict[str, object]] = {
        "*": {"cardinality": "some", "grace": "soon"},
        "paid": {"dedup": 0, "on_no_match": "buffer"},
        "shipped": {"expected": -1, "colour": "blue"},
    }
    _, problems = read_policies("zeebe", changes)
    assert [problem.split(": ")[0:2] for problem in problems] == [
        ["policy '*'", "cardinality"],
        ["policy '*'", "grace"],
        ["policy 'paid'", "dedup"],
        ["policy 'shipped'", "expected"],
        ["policy 'shipped'", "colour"],
    ]


def test_an_unknown_profile_is_a_problem_that_names_the_known_ones() -> None:
    policies, problems = read_policies("camunda", {})
    assert problems == ["profile: 'camunda' is none of zeebe, zeebe-0.2x, correlate, fleans"]
    assert policies == Policies()


def test_an_unknown_profile_does_not_hide_the_other_problems() -> None:
    _, problems = read_policies("camunda", {"paid": {"dedup": "soon"}})
    assert len(problems) == 2


def test_what_is_set_for_one_name_stands_over_what_is_set_for_all() -> None:
    changes = {"*": {"cardinality": "all", "time_to_live": "1m"}, "paid": {"cardinality": "exactly_one"}}
    policies, _ = read_policies("zeebe", changes)
    assert (policies.of("paid").cardinality, policies.of("paid").time_to_live) == ("exactly_one", 60_000)
    assert (policies.of("other").cardinality, policies.of("other").time_to_live) == ("all", 60_000)


def test_the_order_in_which_names_are_written_does_not_matter() -> None:
    paid, everything = {"expected": 2}, {"cardinality": "all"}
    assert read_policies("zeebe", {"paid": paid, "*": everything}) == read_policies(
        "zeebe", {"*": everything, "paid": paid}
    )


@pytest.mark.parametrize(
    ("profile", "values", "why"),
    [
        ("zeebe", {"cardinality": "exactly_one", "expected": 2}, "exactly_one allows one"),
        ("correlate", {"expected": 2}, "exactly_one allows one"),
        ("zeebe", {"dedup": "off", "on_duplicate": "acknowledge"}, "dedup is off"),
        ("fleans", {"on_duplicate": "acknowledge"}, "dedup is off"),
    ],
)
def test_a_mix_that_makes_no_sense_is_refused(profile: str, values: dict[str, object], why: str) -> None:
    _, problems = read_policies(profile, {"paid": values})
    assert len(problems) == 1
    assert problems[0].startswith("policy 'paid': ")
    assert why in problems[0]


def test_a_contradiction_between_all_names_and_one_is_found() -> None:
    _, problems = read_policies("zeebe", {"*": {"expected": 2}, "paid": {"cardinality": "exactly_one"}})
    assert len(problems) == 1


def test_one_receiver_expected_is_no_contradiction_of_exactly_one() -> None:
    assert read_policies("zeebe", {"*": {"cardinality": "exactly_one", "expected": 1}})[1] == []


@pytest.mark.parametrize("profile", list(PROFILES))
def test_a_profile_without_changes_has_no_problems(profile: str) -> None:
    assert read_policies(profile, {}) == (Policies(PROFILES[profile], {}), [])


@pytest.mark.parametrize(
    ("text", "read"),
    [(1500, 1500), ("1500", 1500), ("1500ms", 1500), (" 30 s ", 30_000), ("5m", 300_000), ("1h", 3_600_000), ("0d", 0)],
)
def test_durations_are_read(text: object, read: int) -> None:
    assert read_duration_ms(text) == read


@pytest.mark.parametrize("text", ["", "s", "1 s 2", "one", "5M", "²", True, 1.5, None, b"1s", "-1s"])
def test_what_is_no_duration_is_read_as_none(text: object) -> None:
    assert read_duration_ms(text) is None
