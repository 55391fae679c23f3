"""A client of gRPC as small as it gets: a method for each call, made from the gateway's own pool of messages."""

import json
from typing import Any

import grpc

from conjoin.gateway.grpc.wire import METHODS, SERVICE, WIRE
from tests.testing.order import ORDER

HOUR_MS = 3_600_000


class Client:
    """`client.PublishMessage(name="paid")`; calls that answer in a stream give an iterator."""

    def __init__(self, address: str) -> None:
        self._channel = grpc.insecure_channel(address)
        self._calls = {method.name: self._call(method) for method in METHODS}

    def _call(self, method: Any) -> Any:
        make = self._channel.unary_stream if method.server_streaming else self._channel.unary_unary
        answer = WIRE[method.output_type.name].FromString
        how = make(f"/{SERVICE}/{method.name}", lambda request: request.SerializeToString(), answer)
        request = WIRE[method.input_type.name]
        return lambda deadline_s=20.0, **fields: how(request(**fields), timeout=deadline_s)

    def __getattr__(self, name: str) -> Any:
        return self._calls[name]

    def close(self) -> None:
        self._channel.close()

    def refused(self, call: str, /, **fields: Any) -> tuple[str, str]:
        """The status and text of a call that must fail."""
        try:
            answer = self._calls[call](**fields)
            if hasattr(answer, "cancel"):
                list(answer)
        except grpc.RpcError as error:
            return error.code().name, error.details()
        raise AssertionError(f"{call} was not refused")

    def deploy(self, content: bytes = ORDER, name: str = "order.bpmn") -> Any:
        return self.DeployResource(resources=[{"name": name, "content": content}])

    def start(self, order: str, process: str = "order", **more: Any) -> int:
        variables = json.dumps({"orderId": order, **more})
        key: int = self.CreateProcessInstance(bpmnProcessId=process, variables=variables, version=-1).processInstanceKey
        return key

    def publish(self, order: str, name: str = "paid", ttl_ms: int = HOUR_MS, **fields: Any) -> int:
        key: int = self.PublishMessage(name=name, correlationKey=order, timeToLive=ttl_ms, **fields).key
        return key

    def jobs(self, type_: str, most: int = 10, wait_ms: int = -1, **fields: Any) -> list[Any]:
        asked = {"type": type_, "worker": "test", "timeout": 60_000, "maxJobsToActivate": most, **fields}
        answers = self.ActivateJobs(requestTimeout=wait_ms, **asked)
        return [job for answer in answers for job in answer.jobs]
