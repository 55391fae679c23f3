"""Hints as people and programs write them: an object with our names, or those of Camunda's APIs, and texts or objects.

All problems of one are told at once. Where an id or a key is asked for a whole number is its text, as everywhere here;
where an object or a flag is, a text may hold it, as in a table of texts.
"""

import difflib
from collections.abc import Mapping
from typing import Any

from conjoin.errors import InputError
from conjoin.kernel.inbox.message import Hint
from conjoin.kernel.storable import MOST_DIGITS, whole_number
from conjoin.runtime.codec.json_text import NOT_JSON, read_client_json

SPELLINGS = {
    **{field: field for field in Hint._fields},
    **{"messageName": "name", "key": "correlation_key", "correlationKey": "correlation_key", "id": "message_id"},
    **{"messageId": "message_id", "correlationVariables": "correlation_variables", "businessKey": "business_key"},
    **{"correlationKeys": "correlation_variables", "processVariables": "variables", "tenantId": "tenant_id"},
    **{"processDefinitionId": "process_definition_id", "processInstanceId": "process_instance_id"},
    **{"executionId": "execution_id", "isStart": "is_start", "tenant": "tenant_id"},
}
_OBJECTS = ("variables", "correlation_variables")
_LARGEST_LABEL = 10**MOST_DIGITS - 1
_FLAG = "is_start"
_FLAGS = {"true": True, "false": False}


def read_hint(said: Mapping[str, Any], before: Hint | None = None) -> Hint:
    """A hint, or `before` with what is said changed. Raises `InputError` with everything that is wrong."""
    problems: list[str] = []
    read: dict[str, Any] = {}
    for spelling, value in said.items():
        field = SPELLINGS.get(spelling)
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
        wanted, read = "an object", _object(value)
    elif field == _FLAG:
        wanted, read = "true or false", value if isinstance(value, bool) else _FLAGS.get(str(value))
    else:
        wanted, read = "a text", as_text(value)
    if read is None:
        problems.append(f"{field}: {value!r:.60} is not {wanted}")
    return read


def as_text(value: Any) -> str | None:
    """A text, or a whole number as its text; None: it is neither."""
    if isinstance(value, str):
        return value
    whole = whole_number(value, _LARGEST_LABEL)
    return str(whole) if whole is not None and whole == value else None


def _object(value: Any) -> Any:
    if isinstance(value, str):
        try:
            value = read_client_json(value)
        except NOT_JSON:
            return None
    return value if isinstance(value, Mapping) else None


def _unknown(spelling: str) -> str:
    near = difflib.get_close_matches(str(spelling), SPELLINGS, n=1)
    return f"{spelling}: a hint has no such field" + (f"; did you mean {near[0]}?" if near else "")
