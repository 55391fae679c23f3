"""zbctl: each call a process of its own, and its worker one that runs along, with `cat` as the handler."""

import asyncio
import json
import os
import re
from collections import namedtuple

from story import INVOICES, NO_WAIT, PROCESS, RefusedError, Story, incident_by_rest

STATUSES = {"AlreadyExists": "ALREADY_EXISTS", "NotFound": "NOT_FOUND"}
ZBCTL = f"{os.environ['CLIENTS']}/npm/node_modules/zbctl/bin/zbctl-cli.linux"
Job = namedtuple("Job", "key instance variables headers retries")


async def run(*arguments):
    how = {"stdout": asyncio.subprocess.PIPE, "stderr": asyncio.subprocess.PIPE}
    process = await asyncio.create_subprocess_exec(ZBCTL, *map(str, arguments), **how)
    out, err = await process.communicate()
    if process.returncode:
        status = re.search(r"code = (\w+)", err.decode())
        raise RefusedError(STATUSES.get(status[1], err.decode()) if status else err.decode())
    return out.decode()


class Calls:
    async def partitions(self):
        return json.loads(await run("status", "-o", "json"))["partitionsCount"]

    async def deploy(self, path):
        deployed = json.loads(await run("deploy", "resource", path))["deployments"][0]["process"]
        return deployed["bpmnProcessId"], deployed["version"]

    async def create(self, variables):
        made = await run("create", "instance", PROCESS, "--variables", json.dumps(variables))
        return json.loads(made)["processInstanceKey"]

    async def publish(self, name, key, variables, ttl_ms, message_id):
        about = ("--ttl", f"{ttl_ms}ms", "--variables", json.dumps(variables))
        its_id = ("--messageId", message_id) if message_id else ()
        await run("publish", "message", name, "--correlationKey", key, *about, *its_id)

    async def jobs(self, wait_ms):
        most = ("--maxJobsToActivate", 10, "--timeout", "1m", "--worker", "office")
        wait = "500ms" if wait_ms == NO_WAIT else f"{wait_ms}ms"
        found = json.loads(await run("activate", "jobs", INVOICES, *most, "--requestTimeout", wait))["jobs"]
        return [
            Job(
                *(job["key"], job["processInstanceKey"], json.loads(job["variables"])),
                *(json.loads(job["customHeaders"]), job["retries"]),
            )
            for job in found
        ]

    async def complete(self, job, variables):
        await run("complete", "job", job.key, "--variables", json.dumps(variables))

    async def fail(self, job, retries, message):
        await run("fail", "job", job.key, "--retries", retries, "--errorMessage", message)

    async def set_retries(self, job, retries):
        await run("update", "retries", job.key, "--retries", retries)

    async def incident(self, instance):
        return incident_by_rest(instance)

    async def resolve(self, incident):
        await run("resolve", "incident", incident)

    async def cancel(self, instance):
        await run("cancel", "instance", instance)

    async def work(self, type_, ship):
        line = ("create", "worker", type_, "--handler", "cat", "--name", "shipping")
        worker = await asyncio.create_subprocess_exec(ZBCTL, *line, stderr=asyncio.subprocess.PIPE)
        reading = asyncio.create_task(read(worker.stderr, ship))

        async def stop():
            worker.terminate()
            await worker.wait()
            await reading

        return stop


async def read(lines, ship):
    async for line in lines:
        done = re.search(r"Handler completed job \d+ with variables (.*)", line.decode())
        if done:
            ship(json.loads(done[1])["orderId"])


async def main():
    await Story(Calls()).tell()


asyncio.run(main())
