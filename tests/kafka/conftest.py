"""One broker and one client with Spark for all tests of Kafka; a store of its own for each."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from conjoin.runtime.broker import Broker
from conjoin.runtime.opening import create_broker
from tests.kafka.broker import KafkaBroker, connector
from tests.kafka.client import KafkaClient


@pytest.fixture(scope="session")
def jars() -> str:
    found = connector()
    if not found:
        pytest.skip("Kafka is not there: scripts/setup-kafka fetches it")
    return found


@pytest.fixture(scope="session")
def broker(jars: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    broker = KafkaBroker(tmp_path_factory.mktemp("kafka"))
    yield broker
    broker.stop()


@pytest.fixture(scope="session")
def kafka(broker: KafkaBroker, jars: str) -> Iterator[KafkaClient]:
    client = KafkaClient(broker.servers, jars)
    yield client
    client.stop()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Broker]:
    broker = create_broker(tmp_path / "store", 2)
    yield broker
    broker.close()
