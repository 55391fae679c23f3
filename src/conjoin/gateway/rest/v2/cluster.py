"""The cluster as clients see it: its topology, its status and its license."""

from starlette.responses import Response

from conjoin.gateway.rest.endpoint import Endpoint, RestCall, answer
from conjoin.gateway.rest.v2.shapes import AnswerShape


class Partition(AnswerShape):
    partition_id: int
    role: str
    health: str
    state: str


class BrokerInfo(AnswerShape):
    node_id: int
    broker_id: str
    host: str
    port: int
    partitions: list[Partition]
    version: str


class TopologyAnswer(AnswerShape):
    brokers: list[BrokerInfo]
    cluster_id: str | None
    cluster_size: int
    partitions_count: int
    replication_factor: int
    gateway_version: str
    last_completed_change_id: str


class License(AnswerShape):
    valid_license: bool
    license_type: str
    is_commercial: bool
    expires_at: str | None


async def topology(call: RestCall) -> Response:
    its = call.service.topology()
    partitions = [Partition(number, "leader", "healthy", "active") for number in its.partitions]
    broker = BrokerInfo(0, "0", its.host, its.port, partitions, its.version)
    return answer(TopologyAnswer([broker], None, 1, len(partitions), 1, its.version, "-1"))


async def status(call: RestCall) -> Response:
    return Response(status_code=204)


async def license_(call: RestCall) -> Response:
    return answer(License(True, "open source", False, None))


ENDPOINTS = (
    Endpoint("GET", "/v2/topology", "getTopology", "The broker and its partitions", topology, answer=TopologyAnswer),
    Endpoint("GET", "/v2/status", "getStatus", "Is there a broker to work with?", status),
    Endpoint("GET", "/v2/license", "getLicense", "What is licensed", license_, answer=License),
)
