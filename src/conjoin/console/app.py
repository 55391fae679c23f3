"""The table of the console's pages, as routes for the application of the gateway."""

from collections.abc import Sequence

from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles

from conjoin.console.filters import HERE, templates
from conjoin.console.message_rate import Pace
from conjoin.console.page_request import Console, route
from conjoin.console.pages import dead_letters, inbox, incidents, instances, jobs, messages, models, sending, server
from conjoin.console.pages.lists import list_page
from conjoin.console.pages.overview import overview_pages
from conjoin.gateway.http.context import Gateway
from conjoin.gateway.queries.commits import versions
from conjoin.gateway.queries.incidents import KeyTimes
from conjoin.gateway.queries.store import MOST_MESSAGES, newest_messages


def console_routes(gateway: Gateway, read_only: bool = False) -> Sequence[BaseRoute]:
    """Under `/` and `/console`. `read_only`: pages show everything, and no form is taken."""
    broker = gateway.service.broker
    reached = versions(broker)
    pace = Pace(broker.now, reached)
    pace.begin_with(newest_messages(broker), MOST_MESSAGES)
    gateway.service.listeners.append(pace.committed)
    console = Console(gateway, templates(), pace, KeyTimes(), read_only)
    overview, events = overview_pages(console)
    pages = {
        "/": overview,
        "/console/events": events,
        "/console/find": messages.find,
        "/console/messages": list_page("messages"),
        "/console/messages/{key}": messages.one_message,
        "/console/send": sending.form,
        "/console/instances": list_page("instances"),
        "/console/instances/{key}": instances.one_instance,
        "/console/incidents": incidents.incident_list,
        "/console/jobs": jobs.job_list,
        "/console/tasks": jobs.task_list,
        "/console/dead-letters": dead_letters.letter_list,
        "/console/dead-letters/{key}": dead_letters.one_letter,
        "/console/server": server.server,
        "/console/models": models.model_list,
        "/console/models/{key}": models.one_model,
        "/console/models/{key}/xml": models.xml,
        "/console/inbox": inbox.inbox_list,
        "/console/inbox/{key}": inbox.one_inbox_message,
    }
    forms = {
        "/console/send": sending.send,
        "/console/send/rehearse": sending.rehearse,
        "/console/instances/{key}/cancel": instances.cancel,
        "/console/instances/{key}/variables": instances.set_variables,
        "/console/instances/{key}/incidents/{incident}/resolve": instances.resolve,
        "/console/incidents/rehearse": incidents.rehearse,
        "/console/incidents/resolve": incidents.resolve_many,
        "/console/dead-letters/{key}/rehearse": dead_letters.rehearse,
        "/console/dead-letters/{key}/retry": dead_letters.retry,
        "/console/dead-letters/{key}/delete": dead_letters.delete,
        "/console/set-aside/{key}/retry": server.retry,
        "/console/set-aside/{key}/delete": server.delete,
        "/console/inbox/rehearse": inbox.rehearse_many,
        "/console/inbox/operate": inbox.operate_on_many,
        "/console/inbox/{key}/operate": inbox.operate,
        "/console/inbox/{key}/correct": inbox.correct,
    }
    return [
        Mount("/console/static", StaticFiles(directory=HERE / "static")),
        *(route(console, path, "GET", page) for path, page in pages.items()),
        *(route(console, path, "POST", page) for path, page in forms.items()),
    ]
