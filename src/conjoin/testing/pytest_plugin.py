"""The pytest plugin: `pytest_plugins = ["conjoin.testing.pytest_plugin"]`, then ask for `conjoin_engine`.

Only this module needs pytest, which is not among the requirements of the package itself.
"""

import pytest

from conjoin.testing.local_engine import LocalEngine


@pytest.fixture
def conjoin_engine() -> LocalEngine:
    """A new engine in process for each test, with a clock that stands still."""
    return LocalEngine()
