"""A file holds at least one process that is meant to be run."""

from collections.abc import Iterator

from conjoin.bpmn.document import Document
from conjoin.errors import Problem


def executable_process(document: Document) -> Iterator[Problem]:
    if not document.processes:
        yield document.problem(
            document.part(document.tree.root),
            "executable_process",
            "no process in the file is executable",
            'Mark the process that should run with isExecutable="true".',
        )
