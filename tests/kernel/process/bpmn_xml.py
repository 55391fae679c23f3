"""BPMN as text: one function an element, for models that are made and not drawn."""

_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL"'
    ' xmlns:zeebe="http://camunda.org/schema/zeebe/1.0"'
    ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
    ' id="definitions" targetNamespace="urn:conjoin:tests">\n'
)


def document(*parts: str) -> bytes:
    return (_HEAD + "".join(f"{part}\n" for part in parts) + "</bpmn:definitions>\n").encode()


def bpmn(tag: str, inner: str = "", **attributes: str | bool) -> str:
    """An element of BPMN; a truth value is written as XML does."""
    return _element(f"bpmn:{tag}", inner, attributes)


def zeebe(tag: str, **attributes: str | bool) -> str:
    return _element(f"zeebe:{tag}", "", attributes)


def _element(tag: str, inner: str, attributes: dict[str, str | bool]) -> str:
    told = "".join(f' {name}="{_told(value)}"' for name, value in attributes.items())
    return f"<{tag}{told}>{inner}</{tag}>" if inner else f"<{tag}{told}/>"


def _told(value: str | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else value


def extended(*parts: str) -> str:
    return bpmn("extensionElements", "".join(parts)) if any(parts) else ""


def formal(tag: str, text: str) -> str:
    return f'<bpmn:{tag} xsi:type="bpmn:tFormalExpression">{text}</bpmn:{tag}>'


def message(ref: str, name: str, key: str) -> str:
    return bpmn("message", extended(zeebe("subscription", correlationKey=key)) if key else "", id=ref, name=name)


def mapping(kind: str, source: str, target: str) -> str:
    return f"<zeebe:ioMapping>{_element(f'zeebe:{kind}', '', {'source': source, 'target': target})}</zeebe:ioMapping>"


def duration(text: str) -> str:
    return bpmn("timerEventDefinition", formal("timeDuration", text))
