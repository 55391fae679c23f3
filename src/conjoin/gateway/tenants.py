"""Tenant ids of requests: empty is the default tenant; others are short and plain."""

import re
from collections.abc import Iterable

from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.engine.catalog import DEFAULT_TENANT

_PLAIN = re.compile(r"[\w.-]{1,31}", re.ASCII)


def tenant_or_default(tenant_id: str) -> str:
    return tenant_id or DEFAULT_TENANT


def tenants_or_default(tenant_ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(tenant_ids) or (DEFAULT_TENANT,)


def unusable_tenant(tenant_ids: Iterable[str]) -> Refusal | None:
    for tenant_id in tenant_ids:
        if tenant_id != DEFAULT_TENANT and not _PLAIN.fullmatch(tenant_id):
            text = f"{tenant_id[:40]!r} is no tenant id: 1 to 31 letters, digits, dots, dashes or underscores are one"
            return Refusal("INVALID_ARGUMENT", text)
    return None
