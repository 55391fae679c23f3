"""A schema registry (Confluent's API): the schema that a number stands for, fetched once in a process.

A number that it does not know is the fault of a record: `Unusable`. A registry that does not answer is nobody's fault:
`RegistryFailed`, which ends the task and not the record, so that nothing is lost while it is away.
"""

import base64
import json
import ssl
import time
from functools import lru_cache
from http.client import HTTPException
from typing import Any, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import HTTPRedirectHandler, HTTPSHandler, OpenerDirector, Request, build_opener

from conjoin.errors import RegistryFailed

NOT_FOUND = 404
_TIMEOUT_S = 10
_TRIES_AFTER_S = (0.2, 1.0)
_MOST_BYTES = 16 << 20
_TYPES = "application/vnd.schemaregistry.v1+json, application/json"


class SchemaRegistry(NamedTuple):
    """Where it is, and who asks. `ca`: the PEM text of the authority that vouches for it; empty: the machine's."""

    url: str
    user: str = ""
    password: str = ""
    ca: str = ""

    def schema(self, number: int) -> dict[str, Any]:
        """As the registry describes it; `LookupError` where it has none of this number."""
        return self._get(f"schemas/ids/{number}")

    def version(self, subject: str, version: int) -> dict[str, Any]:
        return self._get(f"subjects/{quote(subject, safe='')}/versions/{int(version)}")

    def _get(self, path: str) -> dict[str, Any]:
        request = Request(f"{self.url.rstrip('/')}/{path}", headers={"Accept": _TYPES})
        if self.user:
            pair = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
            request.add_header("Authorization", f"Basic {pair}")
        for pause_s in (*_TRIES_AFTER_S, None):
            try:
                with _opener(self.ca).open(request, timeout=_TIMEOUT_S) as response:
                    found: dict[str, Any] = json.loads(response.read(_MOST_BYTES))
                    return found
            except HTTPError as error:
                if error.code == NOT_FOUND:
                    raise LookupError(path) from None
                problem, is_over = f"answers {error.code} {error.reason}", error.code < 500
            except (URLError, HTTPException, OSError, ValueError) as error:
                problem, is_over = f"cannot be read: {getattr(error, 'reason', error)}", False
            if pause_s is None or is_over:
                break
            time.sleep(pause_s)
        raise RegistryFailed(f"the schema registry {self.url} {problem} ({path})")


class _NoRedirect(HTTPRedirectHandler):
    """A password is for the registry alone."""

    def redirect_request(self, *_: Any) -> None:
        return None


@lru_cache(maxsize=4)
def _opener(ca: str) -> OpenerDirector:
    return build_opener(_NoRedirect, HTTPSHandler(context=ssl.create_default_context(cadata=ca or None)))
