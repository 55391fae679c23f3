"""A cluster for all its tests; each adds the workers that it needs, so that one may be killed."""

from collections.abc import Iterator

import pytest

from tests.cluster.standalone import Cluster


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    yield cluster
    cluster.stop()
