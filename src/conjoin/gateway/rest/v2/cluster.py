"""What clients ask of the cluster: its topology, whether it is there, and what is licensed."""

from typing import Any

from starlette.responses import Response

from conjoin.gateway.rest.endpoint import ANY_OBJECT, Call, Endpoint, answer


async def topology(call: Call) -> Response:
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


async def status(call: Call) -> Response:
    return Response(status_code=204)


async def license_(call: Call) -> Response:
    """Nothing here needs one."""
    told = {"validLicense": True, "licenseType": "open source", "isCommercial": False, "expiresAt": None}
    return answer(told)


ENDPOINTS = (
    Endpoint("GET", "/v2/topology", "getTopology", "The broker and its partitions", topology, answer=ANY_OBJECT),
    Endpoint("GET", "/v2/status", "getStatus", "Is there a broker to work with?", status),
    Endpoint("GET", "/v2/license", "getLicense", "What is licensed", license_, answer=ANY_OBJECT),
)
