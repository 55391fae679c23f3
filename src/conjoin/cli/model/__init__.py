"""conjoin model: deploy, list and lint BPMN models, and play scenarios with them."""
