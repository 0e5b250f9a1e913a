"""The heads of HTTP messages that go out, checked once each: most are like one before."""

from functools import lru_cache
from typing import TYPE_CHECKING

import h11

if TYPE_CHECKING:
    from h11._headers import Headers


@lru_cache(maxsize=256)
def checked(*lines: tuple[bytes, bytes]) -> "Headers":
    """Return lines as h11 takes them unread; raises LocalProtocolError for what is no header."""
    return h11.Response(status_code=200, headers=list(lines)).headers
