"""YAML as people mean it: plain values only, a date or the word `off` stays the text that it is.

A key is a text and stands once. Errors name the line and never what stands there, which may be a secret.
"""

import re
from typing import Any

import yaml

_MOST_DIGITS = 4_300
_NOT_PLAIN = ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:bool")


class PlainLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Only `true` and `false` are booleans."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if key.tag == "tag:yaml.org,2002:merge":
                continue
            if not isinstance(key, yaml.ScalarNode) or key.tag != "tag:yaml.org,2002:str":
                raise yaml.constructor.ConstructorError(None, None, "a key is not a text", key.start_mark)
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, "a key is given twice", key.start_mark)
            seen.add(key.value)
        return dict(super().construct_mapping(node, deep))

    def construct_yaml_int(self, node: Any) -> int:
        # With more digits Python reads it, if they are binary, but does not write it.
        if len(node.value) > _MOST_DIGITS:
            raise yaml.constructor.ConstructorError(
                None, None, f"a number has more than {_MOST_DIGITS:,} digits", node.start_mark
            )
        return int(super().construct_yaml_int(node))


PlainLoader.add_constructor("tag:yaml.org,2002:int", PlainLoader.construct_yaml_int)
PlainLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in _NOT_PLAIN]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
PlainLoader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(?:true|false)$"), ["t", "f"])


def read_yaml(text: str) -> Any:
    """The value of a text; raises `ValueError` with the line, but without what stands there."""
    try:
        return yaml.load(text, PlainLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f" (at line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        raise ValueError(f"{error.problem or error.context}{where}") from None
    except yaml.YAMLError:
        raise ValueError("it has characters that YAML does not know") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
