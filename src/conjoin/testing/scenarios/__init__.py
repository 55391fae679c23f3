"""Scenarios: small stories played with an engine, and everything a user could observe at the end."""

from conjoin.testing.scenarios.difference import differences
from conjoin.testing.scenarios.outcome import as_json, read_json
from conjoin.testing.scenarios.play import play
from conjoin.testing.scenarios.read import Scenario, read_scenario

__all__ = ["Scenario", "as_json", "differences", "play", "read_json", "read_scenario"]
