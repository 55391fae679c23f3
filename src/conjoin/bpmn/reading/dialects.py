"""Dialects: what each profile's models may leave out. It is only about reading; what runs is the kernel's matter."""

from typing import NamedTuple


class ModelDialect(NamedTuple):
    """All False is Zeebe: what it refuses is refused."""

    bare_keys: bool = False
    """A correlation key may be the bare name of a variable."""
    keyless: bool = False
    """A message may have no correlation key, as in Camunda 7."""
    lenient: bool = False
    """What examples in documents leave out is added (`leniency.py`), with a warning."""


DIALECTS: dict[str, ModelDialect] = {
    "zeebe": ModelDialect(),
    "zeebe-0.2x": ModelDialect(bare_keys=True),
    "correlate": ModelDialect(bare_keys=True, keyless=True, lenient=True),
    "fleans": ModelDialect(bare_keys=True, keyless=True, lenient=True),
}
"""By profile; the names are those of `kernel/policies.py`."""
