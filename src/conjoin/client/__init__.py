"""`conjoin.Client` and `conjoin.AsyncClient`: a server of ours over REST, for those who do not use a Camunda SDK.

The calls are generators without I/O (`exchange.py`, and a module a subject); the two clients only carry what they say.
A retry is never a second message: every message has an id.
"""

from conjoin.client.async_client import AsyncClient
from conjoin.client.carrying import Basic, Bearer, Tls
from conjoin.client.client import Client
from conjoin.client.exchange import Patience
from conjoin.client.jobs import ModelledError, Work
from conjoin.client.values import (
    Correlated,
    DeployedProcess,
    Explanation,
    Fate,
    FoundInstance,
    FoundMessage,
    Incident,
    Instance,
    Job,
    Line,
    Message,
)

__all__ = [
    "AsyncClient",
    "Basic",
    "Bearer",
    "Client",
    "Correlated",
    "DeployedProcess",
    "Explanation",
    "Fate",
    "FoundInstance",
    "FoundMessage",
    "Incident",
    "Instance",
    "Job",
    "Line",
    "Message",
    "ModelledError",
    "Patience",
    "Tls",
    "Work",
]
