from collections.abc import Iterator

import pytest

from tests.runtime.targets.servers import FakeTarget, running_target


@pytest.fixture
def target() -> Iterator[FakeTarget]:
    with running_target() as target:
        yield target
