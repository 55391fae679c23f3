"""Settings: which place wins, and how problems are told."""

from dataclasses import asdict
from pathlib import Path

import pytest

from conjoin.cli.configuration import inbox_of_settings
from conjoin.errors import SettingsError
from conjoin.gateway.service import ServerLimits
from conjoin.runtime.inbox.configuration import read_inbox
from conjoin.settings import Settings, load


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for key in [*Settings.model_fields, "config"]:
        monkeypatch.delenv(f"CONJOIN_{key.upper()}", raising=False)


def write(text: str, name: str = "conjoin.toml") -> None:
    Path(name).write_text(text, encoding="utf-8")


def problems_of(**flags: object) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        load(**flags)
    return caught.value.problems


def test_without_anything_set_the_defaults_hold() -> None:
    settings = load()
    assert settings.profile == "zeebe"
    assert settings.master == "local[*]"
    assert settings.format == "parquet"
    assert settings.partitions is None
    assert settings.driver_memory == "2g"
    assert (settings.data, settings.store) == ("conjoin-data", None)
    assert (settings.message_retention, settings.instance_retention, settings.log_retention) == ("7d", "30d", "forever")
    assert settings.policies == {}


def test_flag_wins_over_environment_over_file_over_default(monkeypatch: pytest.MonkeyPatch) -> None:
    write('profile = "fleans"\nformat = "csv"\nmaster = "local[3]"')
    monkeypatch.setenv("CONJOIN_PROFILE", "correlate")
    monkeypatch.setenv("CONJOIN_FORMAT", "jsonl")
    settings = load(profile="zeebe")
    assert (settings.profile, settings.format, settings.master) == ("zeebe", "jsonl", "local[3]")
    assert settings.driver_memory == "2g"


def test_flag_that_is_none_was_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONJOIN_PARTITIONS", "7")
    assert load(partitions=None).partitions == 7


def test_empty_variable_counts_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONJOIN_PARTITIONS", "")
    assert load().partitions is None


@pytest.mark.parametrize("key", list(Settings.model_fields))
def test_each_key_is_also_a_variable(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    values = {
        "profile": ("fleans", "fleans"),
        "master": ("local[1]", "local[1]"),
        "format": ("csv", "csv"),
        "partitions": ("3", 3),
        "driver_memory": ("4g", "4g"),
        "jars": ("a.jar,b.jar", "a.jar,b.jar"),
        "data": ("there", "there"),
        "store": ("postgresql://host/db", "postgresql://host/db"),
        "message_retention": ("12h", "12h"),
        "instance_retention": ("forever", "forever"),
        "log_retention": ("90d", "90d"),
        "policies": ('{"*": {"dedup": "7d"}}', {"*": {"dedup": "7d"}}),
        "inbox": ('{"mode": "all"}', {"mode": "all"}),
        "inbox_engine": ("spark", "spark"),
        "notify": ('{"*": {"url": "http://x"}}', {"*": {"url": "http://x"}}),
        "server": ("https://conjoin.example", "https://conjoin.example"),
        "token": ("s3cret", "s3cret"),
        "user": ("ada", "ada"),
        "password": ("s3cret", "s3cret"),
        "ca": ("ca.pem", "ca.pem"),
        "host": ("0.0.0.0", "0.0.0.0"),
        "grpc_port": ("0", 0),
        "rest_port": ("9090", 9090),
        "insecure": ("true", True),
        "read_only_console": ("1", True),
        "allowed_hosts": ("a.example, b.example", ["a.example", "b.example"]),
        "traces": ("http://x", "http://x"),
        "log_level": ("INFO", "info"),
        "log_format": ("json", "json"),
        "security": ('{"tokens": "tokens"}', {"tokens": "tokens"}),
    }
    text, value = ("7", 7) if key.startswith("limit_") else values[key]
    monkeypatch.setenv(f"CONJOIN_{key.upper()}", text)
    assert getattr(load(), key) == value


def test_policies_are_tables_by_message_name() -> None:
    write('[policies."*"]\ndedup = "7d"\n[policies.order-paid]\ncardinality = "all"\nexpected = 2')
    assert load().policies == {"*": {"dedup": "7d"}, "order-paid": {"cardinality": "all", "expected": 2}}


def test_named_file_is_read_instead_of_the_one_in_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    write('profile = "fleans"')
    write('profile = "correlate"', "other.toml")
    monkeypatch.setenv("CONJOIN_CONFIG", "other.toml")
    assert load().profile == "correlate"


def test_named_file_that_does_not_exist_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONJOIN_CONFIG", "gone.toml")
    (problem,) = problems_of()
    assert problem == "gone.toml: cannot be read: No such file or directory (named by CONJOIN_CONFIG)"


def test_file_that_is_not_toml_is_a_problem_with_its_line() -> None:
    write('profile = "zeebe"\nmaster = local')
    (problem,) = problems_of()
    assert problem.startswith("conjoin.toml: is not TOML: ")
    assert "line 2" in problem


def test_file_that_is_not_utf_8_is_a_problem() -> None:
    Path("conjoin.toml").write_bytes(b'master = "\xff"')
    (problem,) = problems_of()
    assert problem.startswith("conjoin.toml: is not TOML: ")


def test_unknown_key_is_named_with_the_one_that_was_meant() -> None:
    write('proflie = "zeebe"\nzzz = 1')
    assert problems_of() == [
        "conjoin.toml: unknown key 'proflie'; did you mean 'profile'?",
        "conjoin.toml: unknown key 'zzz'",
    ]


def test_all_problems_are_told_at_once_with_the_place_each_came_from(monkeypatch: pytest.MonkeyPatch) -> None:
    write('profile = "camunda"\ndriver_memory = "much"\nformat = "orc"')
    monkeypatch.setenv("CONJOIN_FORMAT", "xlsx")
    problems = problems_of(partitions=0)
    places = {problem.split(" = ")[0] for problem in problems}
    assert places == {
        "conjoin.toml: profile",
        "conjoin.toml: driver_memory",
        "environment CONJOIN_FORMAT: format",
        "flag --partitions: partitions",
    }
    assert any("'zeebe', 'zeebe-0.2x', 'correlate' or 'fleans'" in problem for problem in problems)


def test_problem_inside_a_table_is_named_with_its_path() -> None:
    write('[policies]\n"order-paid" = "all"')
    (problem,) = problems_of()
    assert problem.startswith("conjoin.toml: policies.order-paid = 'all': ")


def test_variable_that_is_not_json_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONJOIN_POLICIES", "{")
    (problem,) = problems_of()
    assert problem.startswith("environment: ")
    assert "policies" in problem


PRINTED = """
correlate:
  batch:
    mode: all
    query:    # query scheduler
      pollInitialDelay: PT10S
      pollInterval: PT6S
    cleanup:  # cleanup of expired messages
      pollInitialDelay: PT1M
      pollInterval: PT1M
  persistence: # persistence setting
    messageMaxRetries: 100
    messageFetchPageSize: 100
  retry:
    retryMaxBackoffMinutes: 5
    retryBackoffBase: 2.0
"""
"""As the document on batch correlation prints it."""
CLUSTER = """
correlate:
  batch:
    cluster:
      enabled: true
      queuePollLockMostInterval: PT5M
"""


def test_yaml_of_the_document_is_the_inbox() -> None:
    write(PRINTED, "conjoin.yaml")
    settings, _ = read_inbox(load().inbox or {})
    assert (settings.mode, settings.poll_initial_delay, settings.poll_interval) == ("all", 10_000, 6_000)
    assert (settings.cleanup_initial_delay, settings.cleanup_interval) == (60_000, 60_000)
    assert (settings.max_attempts, settings.page_size) == (100, 100)
    assert (settings.backoff_cap, settings.backoff_base) == (300_000, 2.0)


def test_cluster_of_the_document_is_read_from_a_file_of_any_name(monkeypatch: pytest.MonkeyPatch) -> None:
    write(CLUSTER, "application.yml")
    monkeypatch.setenv("CONJOIN_CONFIG", "application.yml")
    settings, _ = read_inbox(load().inbox or {})
    assert (settings.cluster, settings.lock_at_most) == (True, 300_000)


def test_toml_may_call_the_inbox_as_the_document_does() -> None:
    write('[correlate.batch]\nmode = "all"')
    assert read_inbox(load().inbox or {})[0].mode == "all"
    write('[correlate]\nmode = "all"\n[inbox]\nmode = "all"')
    assert problems_of() == ["conjoin.toml: inbox and correlate are the same: keep one"]


def test_yaml_has_the_keys_of_toml() -> None:
    write('profile: fleans\npartitions: 3\npolicies: {"*": {dedup: off, time_to_live: 1h}}', "conjoin.yaml")
    settings = load()
    assert (settings.profile, settings.partitions) == ("fleans", 3)
    assert settings.policies == {"*": {"dedup": "off", "time_to_live": "1h"}}


def test_key_of_yaml_with_nothing_after_it_is_not_set() -> None:
    write("store:\npartitions: null\npolicies:\n", "conjoin.yaml")
    settings = load()
    assert (settings.store, settings.partitions, settings.policies) == (None, None, {})
    write("stroe:", "conjoin.yaml")
    assert problems_of() == ["conjoin.yaml: unknown key 'stroe'; did you mean 'store'?"]


def test_one_file_of_settings_is_enough() -> None:
    write("profile: fleans", "conjoin.yaml")
    write('profile = "zeebe"')
    assert problems_of() == ["there is conjoin.toml and conjoin.yaml: keep one, or name one with CONJOIN_CONFIG"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("profile: zeebe\nsecurity: [secret-7", "conjoin.yaml: is not YAML: "),
        ("profile: zeebe\nprofile: fleans", "is not YAML: a key is given twice (at line 2, column 1)"),
        ("profile: zeebe\n7: secret-7", "is not YAML: a key is not a text (at line 2, column 1)"),
        ("- secret-7", "is not YAML: it is not an object of settings"),
        ("profile: zeebe\nstore: !!python/object:os.system secret-7", "(at line 2, column 8)"),
        ("store: \x00secret-7", "is not YAML: "),
        ("store: " + "[" * 5_000, "is not YAML: "),
        ("proflie: zeebe", "unknown key 'proflie'; did you mean 'profile'?"),
    ],
)
def test_yaml_that_is_wrong_is_told_with_its_line_and_no_value(text: str, said: str) -> None:
    write(text, "conjoin.yaml")
    (problem,) = problems_of()
    assert problem.startswith("conjoin.yaml: ")
    assert said in problem
    assert "secret" not in problem


@pytest.mark.parametrize(
    ("name", "text"), [("conjoin.toml", "[inbox]"), ("conjoin.yaml", "inbox:"), ("conjoin.yaml", "correlate: {}")]
)
def test_empty_inbox_is_an_inbox(name: str, text: str) -> None:
    assert load().inbox is None
    write(text, name)
    assert load().inbox == {}
    assert inbox_of_settings() is not None


def test_empty_inbox_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert inbox_of_settings() is None
    monkeypatch.setenv("CONJOIN_INBOX", "{}")
    assert inbox_of_settings() is not None


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("conjoin.toml", "inbox = " + "[" * 5_000, "it is nested too deeply"),
        ("conjoin.toml", f"[inbox]\npage_size = 0x{'f' * 5_000}", "a number is larger than 64 bits hold"),
        ("conjoin.yaml", f"inbox:\n  page_size: 0b{'1' * 20_000}", "a number has more than 4,300 digits"),
    ],
)
def test_what_python_cannot_hold_or_write_is_a_problem(name: str, text: str, said: str) -> None:
    write(text, name)
    [problem] = problems_of()
    assert problem.startswith(f"{name}: is not {'TOML' if name.endswith('toml') else 'YAML'}: {said}")


def test_table_in_a_variable_that_is_nested_without_end_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONJOIN_INBOX", "[" * 5_000)
    assert problems_of() == ["environment: a table is nested too deeply"]


SERVER = """
[server]
url = "https://conjoin.example"
host = "192.0.2.1"
grpc_port = 0
hosts = ["a.example"]
log_level = "error"

[server.limits]
in_flight = 7
"""


def test_server_and_its_limits_are_settings_like_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    write(SERVER)
    monkeypatch.setenv("CONJOIN_GRPC_PORT", "1")
    monkeypatch.setenv("CONJOIN_LOG_LEVEL", "debug")
    settings = load(log_level="info", limit_waiting="9")
    assert (settings.server, settings.host) == ("https://conjoin.example", "192.0.2.1")
    assert (settings.grpc_port, settings.log_level, settings.allowed_hosts) == (1, "info", ["a.example"])
    assert (settings.limits["in_flight"], settings.limits["waiting"]) == (7, 9)


def test_limits_are_those_of_the_server_with_its_defaults() -> None:
    assert load().limits == asdict(ServerLimits())


def test_server_may_still_be_a_table_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    write(SERVER)
    monkeypatch.setenv("CONJOIN_SERVER", '{"host": "::1", "limits": {"in_flight": 0}}')
    assert problems_of() == [
        "environment CONJOIN_SERVER: server.limits.in_flight = 0: input should be greater than or equal to 1"
    ]
    monkeypatch.setenv("CONJOIN_LIMIT_IN_FLIGHT", "3")
    assert (load().host, load().limits["in_flight"], load().grpc_port) == ("::1", 3, 0)
    monkeypatch.setenv("CONJOIN_SERVER", '{"host": ')
    assert problems_of()[0].startswith("environment CONJOIN_SERVER: is not JSON: ")


def test_problems_of_the_server_name_their_place_and_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    write('host = "x"\n[server]\nlog_levle = "info"\nrest_port = 70000\ntoken = ["s3cret"]\nurl = "s3cret"')
    monkeypatch.setenv("CONJOIN_LOG_FORMAT", "xml")
    problems = problems_of()
    assert "conjoin.toml: unknown key 'server.log_levle'; did you mean 'server.log_level'?" in problems
    assert any(it.startswith("conjoin.toml: unknown key 'host'") for it in problems)
    assert any(it.startswith("conjoin.toml: server.rest_port = 70000: ") for it in problems)
    assert any(it.startswith("environment CONJOIN_LOG_FORMAT: server.log_format = 'xml': ") for it in problems)
    assert len(problems) == 6
    assert "s3cret" not in str(problems)
    monkeypatch.setenv("CONJOIN_LOG_FORMAT", "json")
    write("")
    assert "s3cret" not in repr(load(token="s3cret", password="s3cret"))
