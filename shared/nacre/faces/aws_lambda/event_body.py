"""The body of a Lambda event, in whichever way the gateway has put it there."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any


def event_body(event: Mapping[str, Any]) -> bytes:
    """Return the body's bytes; none when its base64 is broken."""
    body = event.get("body") or ""
    if not event.get("isBase64Encoded"):
        return str(body).encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(body)
    except (binascii.Error, ValueError):
        return b""
