"""The messages of the wire: what is committed is what the proto says, and other copies of the package do no harm."""

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from grpc_health.v1 import health_pb2, health_pb2_grpc

from conjoin.gateway.grpc.server import STREAMING, UNARY
from conjoin.gateway.grpc.wire import METHODS, SERVICE, WIRE
from tests.gateway.grpc.compile import DESCRIPTORS, compiled
from tests.gateway.grpc_client import Client
from tests.gateway.server_thread import ServerThread

MISSING = {"ModifyProcessInstance", "MigrateProcessInstance", "EvaluateDecision", "DeleteResource"}


def test_committed_descriptors_are_those_of_the_proto() -> None:
    assert descriptor_pb2.FileDescriptorSet.FromString(compiled()) == descriptor_pb2.FileDescriptorSet.FromString(
        DESCRIPTORS.read_bytes()
    )


def test_every_call_is_answered_or_named_as_missing() -> None:
    assert {method.name for method in METHODS} == UNARY.keys() | STREAMING.keys() | MISSING


def test_another_copy_of_the_package_can_be_loaded_beside_ours() -> None:
    """As pyzeebe does when it is imported: under the same names, in the pool that all share."""
    theirs = descriptor_pb2.FileDescriptorProto(name="zeebe_grpc/gateway.proto", package="gateway_protocol")
    request = theirs.message_type.add(name="PublishMessageRequest")
    request.field.add(name="name", number=1, type="TYPE_STRING", label="LABEL_OPTIONAL")
    pool = descriptor_pool.Default()
    pool.Add(theirs)
    found = pool.FindMessageTypeByName("gateway_protocol.PublishMessageRequest")
    sent = message_factory.GetMessageClass(found)(name="paid").SerializeToString()
    assert WIRE["PublishMessageRequest"].FromString(sent) == WIRE["PublishMessageRequest"](name="paid")


def test_topology_shows_every_partition_as_healthy(client: Client) -> None:
    told = client.Topology()
    assert (told.clusterSize, told.partitionsCount, told.replicationFactor) == (1, 2, 1)
    assert [(it.partitionId, it.role, it.health) for it in told.brokers[0].partitions] == [(1, 0, 0), (2, 0, 0)]


def test_health_is_serving(gateway: ServerThread) -> None:
    with grpc.insecure_channel(gateway.grpc) as channel:
        health = health_pb2_grpc.HealthStub(channel)
        for name in ("", SERVICE):
            assert health.Check(health_pb2.HealthCheckRequest(service=name)).status == 1
