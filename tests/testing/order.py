"""A small order process that the tests of the public engine use."""

ORDER = b"""<?xml version="1.0" encoding="UTF-8"?>
<bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL"
    xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
    id="definitions" targetNamespace="urn:conjoin:tests">
  <bpmn:process id="order" isExecutable="true">
    <bpmn:startEvent id="begin"/>
    <bpmn:intermediateCatchEvent id="paid">
      <bpmn:messageEventDefinition messageRef="message_paid"/>
    </bpmn:intermediateCatchEvent>
    <bpmn:serviceTask id="ship">
      <bpmn:extensionElements><zeebe:taskDefinition type="ship"/></bpmn:extensionElements>
    </bpmn:serviceTask>
    <bpmn:boundaryEvent id="late" attachedToRef="ship">
      <bpmn:timerEventDefinition><bpmn:timeDuration xsi:type="bpmn:tFormalExpression">PT1H</bpmn:timeDuration>
      </bpmn:timerEventDefinition>
    </bpmn:boundaryEvent>
    <bpmn:userTask id="ask"><bpmn:extensionElements><zeebe:userTask/></bpmn:extensionElements></bpmn:userTask>
    <bpmn:endEvent id="end"/>
    <bpmn:sequenceFlow id="f1" sourceRef="begin" targetRef="paid"/>
    <bpmn:sequenceFlow id="f2" sourceRef="paid" targetRef="ship"/>
    <bpmn:sequenceFlow id="f3" sourceRef="ship" targetRef="end"/>
    <bpmn:sequenceFlow id="f4" sourceRef="late" targetRef="ask"/>
    <bpmn:sequenceFlow id="f5" sourceRef="ask" targetRef="end"/>
  </bpmn:process>
  <bpmn:process id="ticket" isExecutable="true">
    <bpmn:startEvent id="opened"><bpmn:messageEventDefinition messageRef="message_opened"/></bpmn:startEvent>
    <bpmn:serviceTask id="work">
      <bpmn:extensionElements><zeebe:taskDefinition type="work"/></bpmn:extensionElements>
    </bpmn:serviceTask>
    <bpmn:endEvent id="done"/>
    <bpmn:sequenceFlow id="f6" sourceRef="opened" targetRef="work"/>
    <bpmn:sequenceFlow id="f7" sourceRef="work" targetRef="done"/>
  </bpmn:process>
  <bpmn:message id="message_paid" name="paid">
    <bpmn:extensionElements><zeebe:subscription correlationKey="=orderId"/></bpmn:extensionElements>
  </bpmn:message>
  <bpmn:message id="message_opened" name="opened"/>
</bpmn:definitions>
"""
