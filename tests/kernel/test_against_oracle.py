"""The kernel and the oracle say the same of generated histories. The seed of a failure is printed with it."""

import os
from dataclasses import asdict

import pytest

from tests.kernel.inline import play_inline
from tests.oracle.facts import Outcome
from tests.oracle.history import History, generate, minimal, show
from tests.oracle.model import play

HISTORIES = int(os.environ.get("HISTORIES", "2000"))
BLOCKS = 20


def compared(outcome: Outcome) -> dict[str, object]:
    """Everything but `later`, which is no business of the kernel."""
    return {name: value for name, value in asdict(outcome).items() if name != "later"}


def differs(history: History) -> bool:
    return compared(play(history)) != compared(play_inline(history))


def explain(history: History) -> str:
    small = minimal(history, differs)
    theirs, ours = compared(play(small)), compared(play_inline(small))
    lines = [f"{name}:\n  oracle {theirs[name]}\n  kernel {ours[name]}" for name in ours if ours[name] != theirs[name]]
    return "\n".join([f"seed {history.seed}", show(small), *lines])


@pytest.mark.parametrize("block", range(BLOCKS))
def test_kernel_and_oracle_agree_on_generated_histories(block: int, seed: int) -> None:
    for number in range(block, HISTORIES, BLOCKS):
        history = generate(seed + number)
        if differs(history):
            pytest.fail(explain(history))
