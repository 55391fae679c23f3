"""`conjoin.Client` and `conjoin.AsyncClient`: a server of ours over REST, for those who do not use a Camunda SDK.

The calls are generators without I/O (`exchange.py`, and one module per subject); the two clients only carry them out.
A retry is never a second message: every message has an id.
"""

from conjoin.client.carrying import Basic, Bearer, ClientTls
from conjoin.client.client import AsyncClient, Client
from conjoin.client.exchange import Patience
from conjoin.client.jobs import ModelledError, WorkerOptions
from conjoin.client.values import (
    BulkResult,
    CorrelationResult,
    Fate,
    FoundElement,
    FoundInstance,
    FoundJob,
    FoundMessage,
    FoundProcess,
    FoundUserTask,
    MessageExplanation,
    ProcessIncident,
    ProcessInstance,
    ProcessVersion,
    Publication,
    WorkerJob,
)

__all__ = [
    "AsyncClient",
    "Basic",
    "Bearer",
    "Client",
    "CorrelationResult",
    "ProcessVersion",
    "MessageExplanation",
    "Fate",
    "FoundElement",
    "FoundInstance",
    "FoundJob",
    "FoundMessage",
    "FoundProcess",
    "FoundUserTask",
    "ProcessIncident",
    "ProcessInstance",
    "WorkerJob",
    "BulkResult",
    "Publication",
    "ModelledError",
    "Patience",
    "ClientTls",
    "WorkerOptions",
]
