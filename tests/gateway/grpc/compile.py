"""Compiles gateway.proto into gateway.binpb, which is committed: who runs a server needs no compiler.

python -m tests.gateway.grpc.compile
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import conjoin.gateway.grpc

HERE = Path(conjoin.gateway.grpc.__file__).parent
PROTO = HERE / "gateway.proto"
DESCRIPTORS = HERE / "gateway.binpb"


def compiled() -> bytes:
    """A set of file descriptors, without comments."""
    from grpc_tools import protoc

    with TemporaryDirectory() as folder:
        made = Path(folder) / DESCRIPTORS.name
        failed = protoc.main(["protoc", f"-I{HERE}", f"--descriptor_set_out={made}", str(PROTO)])
        assert not failed, f"{PROTO} cannot be compiled"
        return made.read_bytes()


if __name__ == "__main__":
    DESCRIPTORS.write_bytes(compiled())
