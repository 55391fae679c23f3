"""What clients ask of the cluster: its topology, whether it is there, and what is licensed."""

from typing import Any

from starlette.responses import Response

from conjoin.gateway.rest.endpoint import Endpoint, RestCall, answer
from conjoin.gateway.rest.v2.shapes import Shape


class Partition(Shape):
    partition_id: int
    role: str
    health: str
    state: str


class BrokerInfo(Shape):
    node_id: int
    broker_id: str
    host: str
    port: int
    partitions: list[Partition]
    version: str


class TopologyTold(Shape):
    brokers: list[BrokerInfo]
    cluster_id: str | None
    cluster_size: int
    partitions_count: int
    replication_factor: int
    gateway_version: str
    last_completed_change_id: str


class License(Shape):
    valid_license: bool
    license_type: str
    is_commercial: bool
    expires_at: str | None


async def topology(call: RestCall) -> Response:
    its = call.service.topology()
    well = {"role": "leader", "health": "healthy", "state": "active"}
    partitions = [{"partitionId": number, **well} for number in its.partitions]
    broker: dict[str, Any] = {"nodeId": 0, "brokerId": "0", "host": its.host, "port": its.port}
    return answer(
        {
            "brokers": [broker | {"partitions": partitions, "version": its.version}],
            "clusterId": None,
            "clusterSize": 1,
            "partitionsCount": len(its.partitions),
            "replicationFactor": 1,
            "gatewayVersion": its.version,
            "lastCompletedChangeId": "-1",
        }
    )


async def status(call: RestCall) -> Response:
    return Response(status_code=204)


async def license_(call: RestCall) -> Response:
    """Nothing here needs one."""
    told = {"validLicense": True, "licenseType": "open source", "isCommercial": False, "expiresAt": None}
    return answer(told)


ENDPOINTS = (
    Endpoint("GET", "/v2/topology", "getTopology", "The broker and its partitions", topology, answer=TopologyTold),
    Endpoint("GET", "/v2/status", "getStatus", "Is there a broker to work with?", status),
    Endpoint("GET", "/v2/license", "getLicense", "What is licensed", license_, answer=License),
)
