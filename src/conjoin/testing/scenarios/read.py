"""Reading a scenario file. All problems are reported at once, each with the file and the field."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from conjoin.errors import InputError, PolicyError
from conjoin.kernel.storable import read_fraction
from conjoin.plain_yaml import PlainLoader
from conjoin.runtime.engine.catalog import chosen_policies
from conjoin.times.durations import read_duration_ms


@dataclass(frozen=True, slots=True)
class StoryStep:
    kind: str
    fields: dict[str, Any]


class StoryRules(NamedTuple):
    """The profile of a story's engine, and policies by message name (`*` for all)."""

    profile: str
    policies: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Scenario:
    """`name` is `<area>/<name>`."""

    name: str
    title: str
    models: tuple[str, ...]
    steps: tuple[StoryStep, ...]
    rules: StoryRules


class _Loader(PlainLoader):
    """With exact numbers."""


def _fraction(loader: Any, node: Any) -> Any:
    """As every edge reads one; `.inf` and `.nan` stay what they are, and are refused as values."""
    text = loader.construct_scalar(node).replace("_", "")
    return read_fraction(text) if "n" not in text.lower() else loader.construct_yaml_float(node)


_Loader.add_constructor("tag:yaml.org,2002:float", _fraction)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(name, str) for name in value)


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


_Check = tuple[Callable[[Any], bool], str]
_TEXT: _Check = (lambda value: isinstance(value, str), "a text")
_KEY: _Check = (lambda value: isinstance(value, (str, int)) and not isinstance(value, bool), "a text")
_COUNT: _Check = (lambda value: isinstance(value, int) and not isinstance(value, bool), "a whole number")
_DURATION: _Check = (
    lambda value: read_duration_ms(value, signed=True) is not None,
    "milliseconds or a duration such as 30s, 5m, 1h",
)
_OBJECT: _Check = (_is_object, "an object of variables")

# For each step its fields; those with a star must be there.
_FIELDS: dict[str, dict[str, _Check]] = {
    "start": {"process*": _TEXT, "version": _COUNT, "variables": _OBJECT, "as": _TEXT, "business_id": _TEXT},
    "publish": {
        **{"name*": _TEXT, "key": _KEY, "ttl": _DURATION, "id": _KEY},
        **{"variables": _OBJECT, "business_id": _TEXT},
    },
    "correlate": {"name*": _TEXT, "key": _KEY, "variables": _OBJECT, "business_id": _TEXT},
    "advance": {"duration*": _DURATION},
    "complete": {"type*": _TEXT, "limit": _COUNT, "variables": _OBJECT},
    "fail": {"type*": _TEXT, "retries": _COUNT, "message": _TEXT},
    "throw": {"type*": _TEXT, "code*": _KEY},
    "cancel": {"instance*": _TEXT},
    "set": {"instance*": _TEXT, "variables*": _OBJECT},
    "resolve": {"instance*": _TEXT},
}


_PARTS = ("title", "profile", "policies", "models", "steps")


def read_scenario(path: Path) -> Scenario:
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise InputError([f"{path}: it cannot be read: {' '.join(str(error).split())}"]) from error
    problems = _problems(content)
    if problems:
        raise InputError([f"{path}: {problem}" for problem in problems])
    steps = tuple(_step(step) for step in content.get("steps") or ())
    models = tuple(content.get("models", ()))
    rules = StoryRules(content.get("profile", "zeebe"), content.get("policies") or {})
    return Scenario(f"{path.parent.name}/{path.stem}", content.get("title", ""), models, steps, rules)


def _step(step: dict[str, Any]) -> StoryStep:
    ((kind, fields),) = step.items()
    return StoryStep(kind, {"files": fields} if kind == "deploy" else fields or {})


def _problems(content: Any) -> list[str]:
    if not isinstance(content, dict):
        return ["a scenario is an object with title, models and steps"]
    found = [f"{field}: there is no such field" for field in content if field not in _PARTS]
    found += _problems_of_rules(content.get("profile", "zeebe"), content.get("policies") or {})
    if not _is_list_of_texts(content.get("models", [])):
        found.append("models: a list of file names is needed")
    steps = content.get("steps")
    if steps is not None and not isinstance(steps, list):
        return [*found, "steps: a list of steps is needed"]
    for number, step in enumerate(steps or ()):
        found += [f"steps[{number}]{problem}" for problem in _problems_of_step(step)]
    return found


def _problems_of_rules(profile: Any, policies: Any) -> list[str]:
    if not isinstance(profile, str):
        return [f"profile: {profile!r} is not a text"]
    if not _is_object(policies):
        return ["policies: an object of policies by message name is needed"]
    try:
        chosen_policies(profile, policies)
    except PolicyError as error:
        return error.problems
    return []


def _problems_of_step(step: Any) -> list[str]:
    if not isinstance(step, dict) or len(step) != 1:
        return [": a step is one word with its fields, such as `publish: {name: paid}`"]
    ((kind, fields),) = step.items()
    if kind == "deploy":
        return [] if _is_list_of_texts(fields) else [".deploy: a list of file names is needed"]
    if kind not in _FIELDS:
        return [f": there is no step {kind!r}; there are deploy, {', '.join(_FIELDS)}"]
    if not isinstance(fields, dict):
        return [f".{kind}: an object of fields is needed"]
    return [f".{kind}.{problem}" for problem in _problems_of_fields(_FIELDS[kind], fields)]


def _problems_of_fields(known: dict[str, _Check], fields: dict[str, Any]) -> list[str]:
    checks = {name.rstrip("*"): check for name, check in known.items()}
    found = [f"{field}: there is no such field" for field in fields if field not in checks]
    found += [f"{name[:-1]}: it is missing" for name in known if name.endswith("*") and name[:-1] not in fields]
    for name, (is_right, wanted) in checks.items():
        if name in fields and not is_right(fields[name]):
            found.append(f"{name}: {fields[name]!r} is not {wanted}")
    return found
