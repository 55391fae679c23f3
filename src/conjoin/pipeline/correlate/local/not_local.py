"""NotLocal: what this engine would have to guess. The run is then Spark's, or is refused if Spark was ruled out."""


class NotLocal(Exception):  # noqa: N818 - it says what is the case; nobody is at fault
    """`why` ends the sentence "not without Spark: ..."."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why
