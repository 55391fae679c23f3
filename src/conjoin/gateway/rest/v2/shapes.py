"""What bodies of `/v2` have in common: strict objects in camelCase, where null is the same as leaving it out."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from conjoin.gateway.http import schemas
from conjoin.kernel.storable import LARGEST_INT32, LARGEST_INT64, LONGEST_KEY
from conjoin.runtime.client_api.messages import LONGEST_BUSINESS_ID


class Shape(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """The body of a request. Unknown properties are refused."""


class AnswerShape(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """The body of an answer, which has all of its properties."""


Variables = dict[str, Any]
Text = Annotated[str, Meta(pattern=schemas.TEXT["pattern"])]
Name = Annotated[str, Meta(pattern=schemas.NAME["pattern"])]
# These are documented here and checked where they are used, with messages of their own.
MessageName = Annotated[str, Meta(extra_json_schema={"pattern": schemas.NAME["pattern"]})]
MessageId = Annotated[str, Meta(extra_json_schema={"pattern": schemas.TEXT["pattern"]})]
KeyText = Annotated[str, Meta(extra_json_schema={"pattern": schemas.KEY["pattern"]})]
CorrelationKey = Annotated[str, Meta(extra_json_schema={"pattern": schemas.TEXT["pattern"], "maxLength": LONGEST_KEY})]
BusinessId = Annotated[
    str, Meta(extra_json_schema={"pattern": schemas.TEXT["pattern"], "maxLength": LONGEST_BUSINESS_ID})
]
Tenant = Annotated[str, Meta(extra_json_schema={"pattern": schemas.TENANT["pattern"]})]
# What can be stored, which is the same in both directions: -2^63 and -2^31 have no counterpart, and are refused.
Int32 = Annotated[int, Meta(ge=-LARGEST_INT32, le=LARGEST_INT32)]
Int64 = Annotated[int, Meta(ge=-LARGEST_INT64, le=LARGEST_INT64)]


class OperationReference(Shape):
    """Accepted and not kept: no call could return it."""

    operation_reference: Int64 | None = None
