"""Searches over what a store holds now: one engine (`engine.py`), and one file for each thing that can be looked for.

They answer REST clients and the console alike. Strongly consistent: what was answered before is found.
"""

from conjoin.gateway.search.correlated_message_subscriptions import CORRELATED_MESSAGE_SUBSCRIPTIONS
from conjoin.gateway.search.element_instances import ELEMENT_INSTANCES
from conjoin.gateway.search.engine.search import Search
from conjoin.gateway.search.incidents import INCIDENTS
from conjoin.gateway.search.jobs import JOBS
from conjoin.gateway.search.message_subscriptions import MESSAGE_SUBSCRIPTIONS
from conjoin.gateway.search.process_definitions import PROCESS_DEFINITIONS
from conjoin.gateway.search.process_instances import PROCESS_INSTANCES
from conjoin.gateway.search.user_tasks import USER_TASKS
from conjoin.gateway.search.variables import VARIABLES

SEARCHES: dict[str, Search] = {
    it.name: it
    for it in (
        MESSAGE_SUBSCRIPTIONS,
        CORRELATED_MESSAGE_SUBSCRIPTIONS,
        PROCESS_INSTANCES,
        PROCESS_DEFINITIONS,
        ELEMENT_INSTANCES,
        JOBS,
        USER_TASKS,
        INCIDENTS,
        VARIABLES,
    )
}
