"""The webhook: takes a notice to a URL. Only an answer from 200 to 299 counts as told; redirects are not followed."""

from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

TIMEOUT_S = 10.0


def post(url: str, notice_id: str, body: bytes) -> str:
    """Why it was not told; empty if it was."""
    parts = urlsplit(url)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=TIMEOUT_S)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    headers = {"Content-Type": "application/json", "Idempotency-Key": notice_id, "User-Agent": "conjoin"}
    try:
        connection.request("POST", path, body, headers)
        status = connection.getresponse().status
    except (OSError, HTTPException) as error:
        # What else it says may quote the URL, and with it a secret.
        why = getattr(error, "strerror", None)
        return f"{type(error).__name__}: {why}" if why else type(error).__name__
    finally:
        connection.close()
    return "" if 200 <= status < 300 else f"it answered {status}"
