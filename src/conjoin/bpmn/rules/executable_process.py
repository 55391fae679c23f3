"""A file holds at least one process that is meant to be run."""

from conjoin.bpmn.document import Document, Found


def executable_process(document: Document) -> Found:
    if not document.processes:
        advice = 'Mark the process that should run with isExecutable="true".'
        yield document.root, "no process in the file is executable", advice
