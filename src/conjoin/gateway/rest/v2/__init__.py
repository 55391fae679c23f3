"""Camunda's REST interface, version 2, as its clients speak it. One file a subject, each with a table of endpoints."""

from conjoin.gateway.rest.endpoint import Endpoint
from conjoin.gateway.rest.v2 import cluster, deployments, instances, jobs, messages, searches, single, user_tasks

ENDPOINTS: tuple[Endpoint, ...] = (
    *messages.ENDPOINTS,
    *jobs.ENDPOINTS,
    *instances.ENDPOINTS,
    *deployments.ENDPOINTS,
    *user_tasks.ENDPOINTS,
    *cluster.ENDPOINTS,
    *searches.ENDPOINTS,
    *single.ENDPOINTS,
)
"""Those that are called most stand first: the router looks through them in this order."""
