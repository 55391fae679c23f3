"""A throw-away Kafka broker: one process that is broker and controller (KRaft), on the loopback address.

It listens twice: to anybody, and by SASL over TLS to USER, with a certificate that is made for it.
Its jars, and those of Spark's connector, are what `scripts/setup-kafka` has fetched.
"""

import os
import subprocess
from pathlib import Path

from conjoin.pipeline.session.java import ensure_java
from tests.cluster.java_servers import LITTLE_JAVA, JavaServer, free_ports
from tests.gateway.security.certificates import Authority

LARGEST_RECORD = 32 * 1024 * 1024
PARTITIONS = 2
USER, PASSWORD = "shop", "a password=with signs"
_CLUSTER = "Y29uam9pbi10ZXN0cy0xMg"
_SETTINGS = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{broker},SECURED://127.0.0.1:{secured},CONTROLLER://127.0.0.1:{controller}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SECURED:SASL_SSL,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
listener.name.secured.sasl.enabled.mechanisms=PLAIN
listener.name.secured.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \
    user_{user}="{password}";
listener.name.secured.ssl.keystore.type=PEM
listener.name.secured.ssl.keystore.location={keystore}
log.dirs={folder}/records
num.partitions={partitions}
message.max.bytes={largest}
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
"""
_CLIENT = """# As Kafka's own tools take it.
bootstrap.servers={servers}
security.protocol=SASL_SSL
sasl.mechanism=PLAIN
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \
    username="{user}" password="{password}";
ssl.truststore.type=PEM
ssl.truststore.location={authority}
"""


class KafkaBroker:
    """Topics are made when somebody asks for them, with PARTITIONS partitions."""

    def __init__(self, folder: Path) -> None:
        ensure_java()
        port, secured, controller = free_ports(3)
        self.servers, self.secured = f"127.0.0.1:{port}", f"127.0.0.1:{secured}"
        authority = Authority(folder)
        self._authority = authority.certificate
        own = authority.signed("kafka")
        keystore = folder / "keystore.pem"
        keystore.write_bytes(own.key.read_bytes() + own.certificate.read_bytes())
        settings = folder / "server.properties"
        ports = {"broker": port, "secured": secured, "controller": controller}
        files = {"folder": folder, "keystore": keystore}
        rest = {"partitions": PARTITIONS, "largest": LARGEST_RECORD, "user": USER, "password": PASSWORD}
        settings.write_text(_SETTINGS.format(**ports, **files, **rest))
        java = [f"{os.environ['JAVA_HOME']}/bin/java", "-Xmx512m", *LITTLE_JAVA, "-cp", f"{jars_of('broker')}/*"]
        subprocess.run(
            [*java, "kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", str(settings)],
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        self._server = JavaServer([*java, "kafka.Kafka", settings], folder / "log", dict(os.environ))
        self._server.await_port(port)

    def properties(self, password: str = PASSWORD) -> str:
        """What a client of the secured port needs."""
        return _CLIENT.format(servers=self.secured, user=USER, password=password, authority=self._authority)

    def stop(self) -> None:
        self._server.kill()


def jars_of(what: str) -> Path:
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "conjoin" / "kafka" / what


def connector() -> str:
    """As the setting `jars` takes it; nothing where scripts/setup-kafka did not run."""
    return ",".join(str(jar) for jar in sorted(jars_of("connector").glob("*.jar")))
