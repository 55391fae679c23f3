"""Whoever waits for a message inside an instance says with which key (S1, K7, L13).

In profile `zeebe` the key is an expression. In other dialects the bare name of a variable will do, and a message of
Camunda 7, which has no key at all, passes in those that know it (a warning says how it is matched then).
"""

import re
from collections.abc import Iterator

from conjoin.bpmn.document import Document, MessageElement, Node
from conjoin.bpmn.expressions import is_expression
from conjoin.bpmn.keys import correlation_key
from conjoin.errors import Problem

RULE = "correlation_keys"
_PATH = re.compile(r"\s*[^\W\d]\w*(\.[^\W\d]\w*)*\s*")
_EXAMPLE = '<zeebe:subscription correlationKey="=orderId"/>'


def correlation_keys(document: Document) -> Iterator[Problem]:
    judged = set()
    for node in document.nodes:
        message = node.caught
        if message is None or node.starts_process:
            continue
        key = correlation_key(node)
        # On one message it is said once, however many wait for it.
        if (message, key) not in judged:
            judged.add((message, key))
            yield from _key(document, node, message, key)


def _key(document: Document, node: Node, message: MessageElement, key: str | None) -> Iterator[Problem]:
    most = max(map(len, message.keys), default=0)
    if most > 1:
        text = f"the message '{message.name}' has {most} subscriptions"
        yield document.problem(message, RULE, text, "Keep one: a message is matched by one key.")
    if key is None:
        if not document.dialect.keyless:
            text = f"the message '{message.name}' has no correlation key, but '{node.id}' waits for it"
            yield document.problem(message, RULE, text, f"Add {_EXAMPLE} to the message.")
    elif not is_expression(key):
        yield from _bare_key(document, message, key)


def _bare_key(document: Document, message: MessageElement, key: str) -> Iterator[Problem]:
    if not document.dialect.bare_keys:
        text = f"the correlation key '{key}' of the message '{message.name}' is not an expression"
        yield document.problem(message, RULE, text, f"Begin it with an equals sign: ={key.strip()}")
    elif not _PATH.fullmatch(key):
        text = f"the correlation key '{key}' is neither an expression nor the name of a variable"
        yield document.problem(message, RULE, text, "Write an expression such as =orderId.")
