"""Camunda's REST interface, version 2, as its clients speak it. One file a subject, with its table of endpoints."""

from conjoin.gateway.rest.v2 import cluster, deployments, instances, jobs, messages, searches

# The endpoints that are called most are first: the router looks through them in this order.
ENDPOINTS = (
    *(*messages.ENDPOINTS, *jobs.ENDPOINTS, *instances.ENDPOINTS),
    *(*deployments.ENDPOINTS, *cluster.ENDPOINTS, *searches.ENDPOINTS),
)
