"""Trying: what a command would lead to with what is loaded so far. Nothing is applied, and no key is used up."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from conjoin.kernel.correlation import KeySpace, decide

if TYPE_CHECKING:
    from conjoin.runtime.run.working_set.working_set import WorkingSet


def tried(its: "WorkingSet", space: KeySpace, command: Any) -> Sequence[Any]:
    take_key, its.catalog.new_instance = its.catalog.new_instance, lambda *asked: 0
    try:
        return decide(space, command, its.catalog)
    finally:
        its.catalog.new_instance = take_key
