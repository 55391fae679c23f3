"""What gRPC logs of clients that went away is no error of the server."""

import logging

import pytest
from grpc._cython import cygrpc

from tests.gateway.server_thread import ServerThread


@pytest.mark.parametrize(
    ("level", "error", "told"),
    [
        ("WARNING", cygrpc.ExecuteBatchError("core"), 0),
        ("WARNING", ValueError("ours"), 1),
        ("DEBUG", cygrpc.ExecuteBatchError("core"), 1),
    ],
)
def test_a_served_gateway_is_silent_of_a_client_that_went(
    gateway: ServerThread, caplog: pytest.LogCaptureFixture, level: str, error: Exception, told: int
) -> None:
    library = "grpc._cython.cygrpc"
    with caplog.at_level(level):
        try:
            raise error
        except type(error):
            logging.getLogger(library).exception("raised in core by servicer method")
    assert [record.name for record in caplog.records] == [library] * told
