"""The models of the planted mistakes: an order that waits after a task, a start by message, two versions of one."""

HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
    xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" id="definitions" targetNamespace="urn:conjoin:benchmarks">
"""
PAID, CANCELLED, ADDRESS, DELIVERED = "Payment received", "Order cancelled", "Address changed", "Parcel delivered"
OPENED, CHECKED = "Ticket opened", "Claim checked"
HANDED_OVER = {1: "Handed over", 2: "Given to carrier"}
"""What a parcel waits for, by the version of its model."""


def orders() -> bytes:
    order = (
        '<startEvent id="begin"/><exclusiveGateway id="checked" default="to_approve"/>'
        + _task("approve", "Approve order")
        + _catch("paid", PAID)
        + _task("pack", "Pack goods")
        + f'<boundaryEvent id="cancelled" attachedToRef="pack">{_event(CANCELLED)}</boundaryEvent>'
        + '<subProcess id="delivery" name="Delivery"><startEvent id="leaves"/>'
        + _catch("delivered", DELIVERED)
        + '<endEvent id="there"/>'
        + _flow("leaves", "delivered")
        + _flow("delivered", "there")
        + '<subProcess id="elsewhere" triggeredByEvent="true"><startEvent id="address" isInterrupting="false">'
        + f'{_event(ADDRESS)}</startEvent><endEvent id="noted"/>{_flow("address", "noted")}</subProcess></subProcess>'
        + '<endEvent id="end"/><endEvent id="over"/>'
        + _flow("begin", "checked")
        + '<sequenceFlow id="to_approve" sourceRef="checked" targetRef="approve"/>'
        + '<sequenceFlow id="to_paid" sourceRef="checked" targetRef="paid"><conditionExpression'
        + ' xsi:type="tFormalExpression">=approved = true</conditionExpression></sequenceFlow>'
        + _flow("approve", "paid")
        + _flow("paid", "pack")
        + _flow("pack", "delivery")
        + _flow("delivery", "end")
        + _flow("cancelled", "over")
    )
    return _document(
        _process("order", order)
        + _process("renewal", _one_wait(_catch("paid_again", PAID)))
        + _process("claim", _one_wait(_catch("claim_checked", CHECKED)))
        + _process("ticket", f'<startEvent id="opened">{_event(OPENED)}</startEvent>' + _working("opened")),
        dict.fromkeys((PAID, CANCELLED, ADDRESS, DELIVERED), "=orderId") | {CHECKED: "=claim.number", OPENED: ""},
    )


def parcels(version: int) -> bytes:
    name = HANDED_OVER[version]
    return _document(_process("parcel", _one_wait(_catch("handed", name))), {name: "=orderId"})


def _document(processes: str, keys: dict[str, str]) -> bytes:
    roots = "".join(
        f'<message id="{_id(name)}" name="{name}">'
        + (f'<extensionElements><zeebe:subscription correlationKey="{key}"/></extensionElements>' if key else "")
        + "</message>"
        for name, key in keys.items()
    )
    return f"{HEAD}{processes}{roots}</definitions>".encode()


def _process(process_id: str, inside: str) -> str:
    return f'<process id="{process_id}" isExecutable="true">{inside}</process>'


def _one_wait(catch: str) -> str:
    catch_id = catch.split('"')[1]
    begin, end = f"{catch_id}_begin", f"{catch_id}_end"
    flows = _flow(begin, catch_id) + _flow(catch_id, end)
    return f'<startEvent id="{begin}"/>{catch}<endEvent id="{end}"/>{flows}'


def _working(start: str) -> str:
    return _task("work", "Work on it") + '<endEvent id="done"/>' + _flow(start, "work") + _flow("work", "done")


def _task(task_id: str, name: str) -> str:
    definition = f'<zeebe:taskDefinition type="{task_id}"/>'
    return (
        f'<serviceTask id="{task_id}" name="{name}"><extensionElements>{definition}</extensionElements></serviceTask>'
    )


def _catch(element_id: str, name: str) -> str:
    return f'<intermediateCatchEvent id="{element_id}">{_event(name)}</intermediateCatchEvent>'


def _event(name: str) -> str:
    return f'<messageEventDefinition messageRef="{_id(name)}"/>'


def _id(name: str) -> str:
    return "message_" + name.replace(" ", "_")


def _flow(source: str, target: str) -> str:
    return f'<sequenceFlow id="{source}_to_{target}" sourceRef="{source}" targetRef="{target}"/>'
