"""Whoever waits for a message inside an instance says with which key (S1, K7, L13).

In profile `zeebe` the key is an expression. In other dialects the bare name of a variable will do, and a message of
Camunda 7, which has no key at all, passes in those that know it (a warning says how it is matched then).
"""

import re

from conjoin.bpmn.document import Document, Found, MessageElement, Node
from conjoin.bpmn.expressions import is_expression

_PATH = re.compile(r"\s*[^\W\d]\w*(\.[^\W\d]\w*)*\s*")
_EXAMPLE = '<zeebe:subscription correlationKey="=orderId"/>'


def correlation_keys(document: Document) -> Found:
    judged = set()
    for node in document.nodes:
        message = node.caught
        if message is None or node.starts_process:
            continue
        key = node.correlation_key
        # On one message it is said once, however many wait for it.
        if (message, key) not in judged:
            judged.add((message, key))
            yield from _key(document, node, message, key)


def _key(document: Document, node: Node, message: MessageElement, key: str | None) -> Found:
    most = max(map(len, message.keys), default=0)
    if most > 1:
        text = f"the message '{message.name}' has {most} subscriptions"
        yield message, text, "Keep one: a message is matched by one key."
    if key is None:
        if not document.dialect.keyless:
            text = f"the message '{message.name}' has no correlation key, but '{node.id}' waits for it"
            yield message, text, f"Add {_EXAMPLE} to the message."
    elif not is_expression(key) and not document.dialect.bare_keys:
        text = f"the correlation key '{key}' of the message '{message.name}' is not an expression"
        yield message, text, f"Begin it with an equals sign: ={key.strip()}"
    elif not is_expression(key) and not _PATH.fullmatch(key):
        text = f"the correlation key '{key}' is neither an expression nor the name of a variable"
        yield message, text, "Write an expression such as =orderId."
