"""Searches over what a store holds now, for `/v2`: one engine (`engine/`), and a table for each thing to search for.

Strongly consistent: what was answered before is found.
"""

from conjoin.gateway.search.engine.search import Search
from conjoin.gateway.search.inside_instances import ELEMENT_INSTANCES, INCIDENTS, VARIABLES
from conjoin.gateway.search.jobs import JOBS, USER_TASKS
from conjoin.gateway.search.message_subscriptions import CORRELATED_MESSAGE_SUBSCRIPTIONS, MESSAGE_SUBSCRIPTIONS
from conjoin.gateway.search.processes import PROCESS_DEFINITIONS, PROCESS_INSTANCES

_ALL = (
    *(MESSAGE_SUBSCRIPTIONS, CORRELATED_MESSAGE_SUBSCRIPTIONS, PROCESS_INSTANCES, PROCESS_DEFINITIONS),
    *(ELEMENT_INSTANCES, JOBS, USER_TASKS, INCIDENTS, VARIABLES),
)
SEARCHES: dict[str, Search] = {it.name: it for it in _ALL}
