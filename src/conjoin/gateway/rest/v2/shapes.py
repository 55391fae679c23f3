"""What requests of `/v2` have in common: strict objects in camelCase, where null means the same as leaving it out."""

from typing import Any

import msgspec


class Shape(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """An object of the wire. Unknown properties are refused."""


Variables = dict[str, Any]


class OperationReference(Shape):
    """Ours is not kept: nothing can ask for it."""

    operation_reference: int | None = None
