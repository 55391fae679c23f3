"""What an operator decides about a dead letter: it becomes a message after all, once; or it is deleted.

In one commit of the shard that keeps it the letter is taken away and the message is published, or, if its correlation
key is at home elsewhere, put into the mail, which is delivered once. So a form that is submitted twice, at once or
after a crash, publishes one message.
"""

from collections.abc import Callable
from dataclasses import dataclass

from conjoin.runtime.client_api.answers import DONE, Done, Refusal
from conjoin.runtime.client_api.messages import NewMessage, unusable
from conjoin.runtime.run.batches import Reply
from conjoin.runtime.run.working_set.working_set import Execution


@dataclass(frozen=True, slots=True)
class EndDeadLetter:
    """`message` is published in its place; None: it is deleted."""

    key: int
    message: NewMessage | None = None


class DeadLetterFold:
    """Its part of a run. `ended` are the keys of those that are not kept any more."""

    def __init__(self, execution: Execution) -> None:
        self.ended: dict[int, None] = {}
        self._execution = execution

    def carry_out(self, request: EndDeadLetter) -> Reply:
        """The reply has the key of the letter; without one it was not there any more."""
        key = request.key
        if key in self.ended or not self._execution.its.snapshot.dead_letters([key]):
            return Reply()
        self.ended[key] = None
        if request.message is not None:
            self._execution.send(request.message)
        return Reply(key=key)


def end_dead_letter(ask: Callable[[EndDeadLetter], Reply], request: EndDeadLetter) -> Done | Refusal:
    problem = None if request.message is None else unusable(request.message)
    if problem is not None:
        return problem
    return DONE if ask(request).key else no_dead_letter(request.key)


def no_dead_letter(key: int) -> Refusal:
    return Refusal("NOT_FOUND", f"there is no dead letter {key} any more: it was retried or deleted, or never was one")
