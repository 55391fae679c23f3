"""What the writers run: waits on two keys that may be on different shards, a job, a message start with its lock."""

RESOURCE = "faults.bpmn"
MODEL = b"""<?xml version="1.0" encoding="UTF-8"?>
<bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL"
    xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" id="definitions" targetNamespace="urn:conjoin:faults">
  <bpmn:process id="order" isExecutable="true">
    <bpmn:startEvent id="begin"/>
    <bpmn:intermediateCatchEvent id="pay">
      <bpmn:messageEventDefinition messageRef="message_paid"/>
    </bpmn:intermediateCatchEvent>
    <bpmn:serviceTask id="pack">
      <bpmn:extensionElements><zeebe:taskDefinition type="pack"/></bpmn:extensionElements>
    </bpmn:serviceTask>
    <bpmn:intermediateCatchEvent id="ship">
      <bpmn:messageEventDefinition messageRef="message_shipped"/>
    </bpmn:intermediateCatchEvent>
    <bpmn:endEvent id="end"/>
    <bpmn:sequenceFlow id="f1" sourceRef="begin" targetRef="pay"/>
    <bpmn:sequenceFlow id="f2" sourceRef="pay" targetRef="pack"/>
    <bpmn:sequenceFlow id="f3" sourceRef="pack" targetRef="ship"/>
    <bpmn:sequenceFlow id="f4" sourceRef="ship" targetRef="end"/>
  </bpmn:process>
  <bpmn:process id="audit" isExecutable="true">
    <bpmn:startEvent id="begin_audit"/>
    <bpmn:intermediateCatchEvent id="see_parcel">
      <bpmn:messageEventDefinition messageRef="message_shipped"/>
    </bpmn:intermediateCatchEvent>
    <bpmn:intermediateCatchEvent id="see_payment">
      <bpmn:messageEventDefinition messageRef="message_paid"/>
    </bpmn:intermediateCatchEvent>
    <bpmn:endEvent id="end_audit"/>
    <bpmn:sequenceFlow id="g1" sourceRef="begin_audit" targetRef="see_parcel"/>
    <bpmn:sequenceFlow id="g2" sourceRef="see_parcel" targetRef="see_payment"/>
    <bpmn:sequenceFlow id="g3" sourceRef="see_payment" targetRef="end_audit"/>
  </bpmn:process>
  <bpmn:process id="claim" isExecutable="true">
    <bpmn:startEvent id="claimed">
      <bpmn:messageEventDefinition messageRef="message_claimed"/>
    </bpmn:startEvent>
    <bpmn:intermediateCatchEvent id="settle">
      <bpmn:messageEventDefinition messageRef="message_settled"/>
    </bpmn:intermediateCatchEvent>
    <bpmn:endEvent id="end_claim"/>
    <bpmn:sequenceFlow id="h1" sourceRef="claimed" targetRef="settle"/>
    <bpmn:sequenceFlow id="h2" sourceRef="settle" targetRef="end_claim"/>
  </bpmn:process>
  <bpmn:message id="message_paid" name="paid">
    <bpmn:extensionElements><zeebe:subscription correlationKey="=orderId"/></bpmn:extensionElements>
  </bpmn:message>
  <bpmn:message id="message_shipped" name="shipped">
    <bpmn:extensionElements><zeebe:subscription correlationKey="=parcelId"/></bpmn:extensionElements>
  </bpmn:message>
  <bpmn:message id="message_claimed" name="claimed"/>
  <bpmn:message id="message_settled" name="settled">
    <bpmn:extensionElements><zeebe:subscription correlationKey="=parcelId"/></bpmn:extensionElements>
  </bpmn:message>
</bpmn:definitions>
"""
