"""BPMN files: read, judged and compiled to the plans that the kernel runs. The kernel never sees XML."""

from conjoin.bpmn.model import Findings, Model, judge, read_model
from conjoin.errors import ModelError, Problem

__all__ = ["Findings", "Model", "ModelError", "Problem", "judge", "read_model"]
