"""The names of BPMN: namespaces, and which tags are what. Nothing here decides whether we run an element."""

BPMN = "http://www.omg.org/spec/BPMN/20100524/MODEL"
BPMN_DIAGRAM = "http://www.omg.org/spec/BPMN/20100524/DI"
ZEEBE = "http://camunda.org/schema/zeebe/1.0"
FLEANS = ("https://fleans.io/schema/bpmn/1.0", "http://fleans.io/schema/bpmn/fleans")

TASKS = frozenset(
    {
        *("task", "serviceTask", "sendTask", "receiveTask", "userTask", "scriptTask", "businessRuleTask"),
        *("manualTask", "callActivity"),
    }
)
SCOPES = frozenset({"process", "subProcess", "transaction", "adHocSubProcess"})
ACTIVITIES = TASKS | (SCOPES - {"process"})
EVENTS = frozenset(
    {
        *("startEvent", "endEvent", "intermediateCatchEvent", "intermediateThrowEvent", "boundaryEvent"),
        *("implicitThrowEvent", "event"),
    }
)
GATEWAYS = frozenset({"exclusiveGateway", "parallelGateway", "inclusiveGateway", "eventBasedGateway", "complexGateway"})
CHOREOGRAPHIES = frozenset({"choreographyTask", "callChoreography", "subChoreography"})
FLOW_NODES = ACTIVITIES | EVENTS | GATEWAYS | CHOREOGRAPHIES
CATCHING = frozenset({"startEvent", "intermediateCatchEvent", "boundaryEvent"})
THROWING = frozenset({"intermediateThrowEvent", "endEvent"})

DEFINITION = "EventDefinition"
"""What the tag of every event definition ends with: `messageEventDefinition` is of the type `message`."""

WORDS = {
    "process": "process",
    "subProcess": "subprocess",
    "callActivity": "call activity",
    "startEvent": "start event",
    "endEvent": "end event",
    "intermediateCatchEvent": "catch event",
    "intermediateThrowEvent": "throw event",
    "boundaryEvent": "boundary event",
    "exclusiveGateway": "exclusive gateway",
    "parallelGateway": "parallel gateway",
    "inclusiveGateway": "inclusive gateway",
    "eventBasedGateway": "event-based gateway",
    "task": "undefined task",
    "serviceTask": "service task",
    "sendTask": "send task",
    "receiveTask": "receive task",
    "userTask": "user task",
    "scriptTask": "script task",
    "businessRuleTask": "business rule task",
    "manualTask": "manual task",
    "sequenceFlow": "sequence flow",
}
"""What a person calls the elements that we run."""
