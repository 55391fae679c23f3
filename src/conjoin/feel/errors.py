"""What can go wrong with an expression: its text is refused once, when it is compiled; its evaluation never fails.

`FeelSyntaxError` is what an author sees. `Unanswerable` never leaves this package: it turns a whole expression into
null, where a null in one place would be computed with further (a failed `assert`). `BudgetSpent` does the same, or
becomes the error that whoever compiled the expression has asked for.
"""


class FeelSyntaxError(Exception):
    """A text that is not an expression we run; `column` counts from 1, in the text without its leading `=`."""

    def __init__(self, text: str, column: int, construct: str, problem: str) -> None:
        super().__init__(f"column {column}: {problem}")
        self.text = text
        self.column = column
        self.construct = construct


class Unanswerable(Exception):  # noqa: N818 - not an error: the answer is null
    """The whole expression is null."""


class BudgetSpent(Unanswerable):
    """The evaluation costs more than one may; the text says what there was too much of."""
