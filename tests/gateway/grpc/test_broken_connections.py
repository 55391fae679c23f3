"""What gRPC logs of clients that went away is no error of the server."""

import logging
from collections.abc import Iterator

import pytest
from grpc._cython import cygrpc

from conjoin.gateway.grpc.server import is_about_us


@pytest.fixture
def library_log() -> Iterator[logging.Logger]:
    log = logging.getLogger("grpc._cython.cygrpc")
    before = list(log.filters)
    log.addFilter(is_about_us)
    yield log
    log.filters = before


@pytest.mark.parametrize(("error", "told"), [(cygrpc.ExecuteBatchError("core"), 0), (ValueError("ours"), 1)])
def test_only_a_client_that_went_is_not_told(
    library_log: logging.Logger, caplog: pytest.LogCaptureFixture, error: Exception, told: int
) -> None:
    try:
        raise error
    except type(error):
        library_log.exception("raised in core by servicer method")
    assert len(caplog.records) == told
