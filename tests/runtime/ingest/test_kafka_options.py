"""Options of Kafka: what is given is passed on over the defaults; what would be ignored in silence is refused."""

from pathlib import Path

import pytest

from conjoin.errors import InputError
from conjoin.runtime.ingest.kafka_options import kafka_options, read_option, read_properties

HERE = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "orders"}


def test_what_is_given_is_passed_on_over_the_defaults() -> None:
    assert kafka_options(HERE) == HERE | {
        "kafka.isolation.level": "read_committed",
        "startingOffsets": "earliest",
        "includeHeaders": "true",
        "maxOffsetsPerTrigger": "200000",
        "failOnDataLoss": "false",
    }
    given = {
        "kafka.isolation.level": "read_uncommitted",
        "kafka.security.protocol": "SASL_SSL",
        "failondataloss": "true",
        "MINPARTITIONS": "8",
    }
    options = kafka_options(HERE | given)
    assert options["kafka.isolation.level"] == "read_uncommitted"
    assert options["kafka.security.protocol"] == "SASL_SSL"
    assert (options["failOnDataLoss"], options["minPartitions"]) == ("true", "8")
    assert not {"failondataloss", "MINPARTITIONS"} & set(options)


def test_a_table_has_no_options_of_streams_and_a_beginning_in_time_no_other() -> None:
    assert not {"maxOffsetsPerTrigger", "failOnDataLoss"} & set(kafka_options(HERE, is_stream=False))
    assert "startingOffsets" not in kafka_options(HERE | {"startingTimestamp": "0"})


def test_what_spark_would_ignore_or_refuse_in_a_task_is_told_at_once() -> None:
    with pytest.raises(InputError) as told:
        kafka_options({"subscribe": "a", "assign": "b", "startingOffset": "x", "sasl.mechanism": "PLAIN",
                       "kafka.enable.auto.commit": "true"})  # fmt: skip
    assert told.value.problems == [
        "Kafka's servers are missing: kafka.bootstrap.servers, such as localhost:9092",
        "say what is read of Kafka, by one of subscribe, subscribePattern, assign, not subscribe and assign",
        "startingOffset: there is no such option of Spark's connector; did you mean 'startingOffsets'?",
        "sasl.mechanism: there is no such option of Spark's connector; options of Kafka's client begin with kafka.",
        "kafka.enable.auto.commit: the store knows how far it was read",
    ]


def test_a_file_of_properties_has_the_options_of_the_client(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text(
        "# of the shop\n\n! too\nbootstrap.servers = a:1,b:2\nsecurity.protocol: SASL_SSL\n"
        'sasl.jaas.config=org.apache.Login required \\\n    username="u" \\\n    password="p=:#";\nempty=\n'
    )
    assert read_properties(file) == {
        "kafka.bootstrap.servers": "a:1,b:2",
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.jaas.config": 'org.apache.Login required username="u" password="p=:#";',
        "kafka.empty": "",
    }
    file.write_text("secret\nsasl.mechanism=PLAIN\n=x")
    with pytest.raises(InputError) as told:
        read_properties(file)
    assert told.value.problems == [f"{file}:1: write it as name=value", f"{file}:3: write it as name=value"]


def test_an_option_is_a_name_with_a_value_and_the_value_is_not_repeated() -> None:
    assert read_option("kafka.sasl.jaas.config=a=b") == ("kafka.sasl.jaas.config", "a=b")
    for wrong in ("secret", "=secret"):
        with pytest.raises(InputError) as told:
            read_option(wrong)
        assert "secret" not in str(told.value)
