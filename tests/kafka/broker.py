"""A throw-away Kafka broker: one process that is broker and controller (KRaft), on the loopback address.

Its jars, and those of Spark's connector, are what `scripts/setup-kafka` has fetched.
"""

import os
import subprocess
from pathlib import Path

from conjoin.pipeline.session.java import ensure_java
from tests.cluster.java_servers import LITTLE_JAVA, JavaServer, free_ports

LARGEST_RECORD = 32 * 1024 * 1024
PARTITIONS = 2
_CLUSTER = "Y29uam9pbi10ZXN0cy0xMg"
_SETTINGS = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}
controller.listener.names=CONTROLLER
log.dirs={folder}/records
num.partitions={partitions}
message.max.bytes={largest}
offsets.topic.replication.factor=1
"""


class KafkaBroker:
    """Topics are made when somebody asks for them, with PARTITIONS partitions."""

    def __init__(self, folder: Path) -> None:
        ensure_java()
        port, controller = free_ports(2)
        self.servers = f"127.0.0.1:{port}"
        settings = folder / "server.properties"
        settings.write_text(
            _SETTINGS.format(
                broker=port, controller=controller, folder=folder, partitions=PARTITIONS, largest=LARGEST_RECORD
            )
        )
        java = [f"{os.environ['JAVA_HOME']}/bin/java", "-Xmx512m", *LITTLE_JAVA, "-cp", f"{jars_of('broker')}/*"]
        subprocess.run(
            [*java, "kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", str(settings)],
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        self._server = JavaServer([*java, "kafka.Kafka", settings], folder / "log", dict(os.environ))
        self._server.await_port(port)

    def stop(self) -> None:
        self._server.kill()


def jars_of(what: str) -> Path:
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "conjoin" / "kafka" / what


def connector() -> str:
    """As the setting `jars` takes it; nothing where scripts/setup-kafka did not run."""
    return ",".join(str(jar) for jar in sorted(jars_of("connector").glob("*.jar")))
