"""Documents to plans. Only what the rules let pass comes here, so nothing is checked a second time."""

from conjoin.bpmn.compile.process import compile_process

__all__ = ["compile_process"]
