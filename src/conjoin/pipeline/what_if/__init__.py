"""What if: the recorded commands of a store run again under other policies, and what would have changed.

The rules are the kernel's, the same that decided the first time. What depends on a changed correlation is marked
`unknown` and never guessed; nothing is written to the store. `docs/what-if.md` says what holds and what is assumed.
"""

from conjoin.pipeline.what_if.question import Question, read_changes

__all__ = ["Question", "read_changes"]
