"""Jobs of workers and tasks of people that are open. Nothing is done to them here: they are found, and led to."""

from starlette.responses import Response

from conjoin.console.page_request import Visit
from conjoin.console.pages.lists import list_answer
from conjoin.gateway.queries import jobs as job_queries


async def job_list(visit: Visit) -> Response:
    return await list_answer(visit, "jobs", job_queries.job_page, visit.console.times)


async def task_list(visit: Visit) -> Response:
    return await list_answer(visit, "tasks", job_queries.task_page, visit.console.times)
