"""Where the correlation key of a waiting element is written: with its message, or on the event (Fleans)."""

from conjoin.bpmn.document import Node
from conjoin.bpmn.names import FLEANS


def correlation_key(node: Node) -> str | None:
    """The text of the key, as the author wrote it; None if there is none, as in models of Camunda 7.

    `zeebe:subscription` counts before `fleans:subscription`, and both before an attribute of the event.
    """
    message = node.caught
    if message is not None and message.key is not None:
        return message.key
    places = [node.xml, *(event.xml for event in node.events)]
    keys = (place.get(f"{{{space}}}correlationKey") for place in places for space in FLEANS)
    return next((key for key in keys if key and key.strip()), None)
