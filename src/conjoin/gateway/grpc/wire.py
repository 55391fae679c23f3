"""The messages of the wire, as classes by name: `WIRE["PublishMessageRequest"]`.

They live in a pool of their own: pyzeebe brings a package of the same name, and one pool takes only one of them.
"""

from pathlib import Path
from typing import Any

from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

SERVICE = "gateway_protocol.Gateway"


def _load() -> tuple[dict[str, Any], list[MethodDescriptor]]:
    pool = DescriptorPool()
    (file,) = FileDescriptorSet.FromString(Path(__file__).with_name("gateway.binpb").read_bytes()).file
    pool.Add(file)
    found = {
        message.name: GetMessageClass(pool.FindMessageTypeByName(f"{file.package}.{message.name}"))
        for message in file.message_type
    }
    return found, list(pool.FindServiceByName(SERVICE).methods)


WIRE, METHODS = _load()
