"""Hints as people and programs write them: an object with our names, or those of Camunda's APIs, and texts or objects.

All problems of one are told at once. Where an id or a key is asked for a number is its text, as everywhere here.
"""

import difflib
from collections.abc import Mapping
from typing import Any

from conjoin.errors import InputError
from conjoin.kernel.inbox.message import Hint

_SPELLINGS = {
    **{field: field for field in Hint._fields},
    **{"messageName": "name", "key": "correlation_key", "correlationKey": "correlation_key", "id": "message_id"},
    **{"messageId": "message_id", "correlationVariables": "correlation_variables", "businessKey": "business_key"},
    **{"correlationKeys": "correlation_variables", "processVariables": "variables", "tenantId": "tenant_id"},
    **{"processDefinitionId": "process_definition_id", "processInstanceId": "process_instance_id"},
    **{"executionId": "execution_id", "isStart": "is_start", "tenant": "tenant_id"},
}
_OBJECTS = ("variables", "correlation_variables")
_FLAG = "is_start"


def read_hint(said: Mapping[str, Any], before: Hint | None = None) -> Hint:
    """A hint, or `before` with what is said changed. Raises `InputError` with everything that is wrong."""
    problems: list[str] = []
    read: dict[str, Any] = {}
    for spelling, value in said.items():
        field = _SPELLINGS.get(spelling)
        if field is None:
            problems.append(_unknown(spelling))
        elif field in read:
            problems.append(f"{spelling}: {field} is given twice")
        else:
            read[field] = _value(field, value, problems)
    if problems:
        raise InputError(problems)
    return (before or Hint())._replace(**read)


def _value(field: str, value: Any, problems: list[str]) -> Any:
    if field in _OBJECTS:
        wanted, is_right = "an object", isinstance(value, Mapping)
    elif field == _FLAG:
        wanted, is_right = "true or false", isinstance(value, bool)
    else:
        wanted, is_right = "a text", isinstance(value, str | int) and not isinstance(value, bool)
        value = str(value) if is_right else value
    if not is_right:
        problems.append(f"{field}: {value!r:.60} is not {wanted}")
    return value


def _unknown(spelling: str) -> str:
    near = difflib.get_close_matches(str(spelling), _SPELLINGS, n=1)
    return f"{spelling}: a hint has no such field" + (f"; did you mean {near[0]}?" if near else "")
