"""The runtime: shards that run the kernel, where an instance lives, and what is deployed. It decides no rule."""

from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.engine.memory import Engine

__all__ = ["Engine", "Refusal"]
