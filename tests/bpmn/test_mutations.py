"""Models broken at random: reading them never raises anything but a `ModelError`, and what passes compiles.

The seed is printed; `SEED=... pytest tests/bpmn/test_mutations.py` runs the same again.
"""

import copy
import random
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from conjoin.bpmn import ModelError, judge, read_model

FOLDER = Path(__file__).parent
SOURCES = [*sorted((FOLDER / "models").glob("*.bpmn")), *sorted((FOLDER / "defects").glob("[!x]*.bpmn"))]
ROUNDS = 25
VALUES = ["", "=", "=null", "x", "begin", "Event_begin", "true", "false", "=a.b +", "R/PT1S", "1", "\N{SNOWMAN}"]


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_broken_model_is_judged_and_never_raises(source: Path, seed: int) -> None:
    chance = random.Random(f"{seed} {source.stem}")
    for _ in range(ROUNDS):
        content = mutated(source.read_bytes(), chance)
        profile = chance.choice(["zeebe", "fleans", "correlate"])
        findings = judge(content, source.name, profile)
        if findings.problems:
            with pytest.raises(ModelError):
                read_model(content, source.name, profile)
        else:
            assert read_model(content, source.name, profile).warnings == findings.warnings


def mutated(content: bytes, chance: random.Random) -> bytes:
    root = etree.fromstring(content)
    for _ in range(chance.randint(1, 3)):
        chance.choice(MUTATIONS)(list(root.iter("{*}*")), chance)
    return bytes(etree.tostring(root))


def _remove(elements: list[Any], chance: random.Random) -> None:
    element = chance.choice(elements)
    if element.getparent() is not None:
        element.getparent().remove(element)


def _repeat(elements: list[Any], chance: random.Random) -> None:
    element = chance.choice(elements)
    if element.getparent() is not None:
        element.addnext(copy.deepcopy(element))


def _move(elements: list[Any], chance: random.Random) -> None:
    element, target = chance.choice(elements), chance.choice(elements)
    if element not in target.iterancestors() and element is not target and element.getparent() is not None:
        target.append(element)


def _rename(elements: list[Any], chance: random.Random) -> None:
    chance.choice(elements).tag = chance.choice(elements).tag


def _change_attribute(elements: list[Any], chance: random.Random) -> None:
    element, other = chance.choice(elements), chance.choice(elements)
    if element.attrib:
        values = [*VALUES, *other.attrib.values()]
        element.set(chance.choice(element.keys()), chance.choice(values))


def _remove_attribute(elements: list[Any], chance: random.Random) -> None:
    element = chance.choice(elements)
    if element.attrib:
        del element.attrib[chance.choice(element.keys())]


def _change_text(elements: list[Any], chance: random.Random) -> None:
    chance.choice(elements).text = chance.choice(VALUES)


MUTATIONS = [_remove, _repeat, _move, _rename, _change_attribute, _remove_attribute, _change_text]
