"""The heads of HTTP messages that go out, checked once each: most are like one before."""

from functools import lru_cache

import h11

Lines = tuple[tuple[bytes, bytes], ...]


@lru_cache(maxsize=256)
def request_head(method: str, target: str, lines: Lines) -> h11.Request:
    """Return a request's head; raises LocalProtocolError for what is none."""
    return h11.Request(method=method, target=target, headers=list(lines))


@lru_cache(maxsize=256)
def response_head(status: int, lines: Lines) -> h11.Response:
    """Return an answer's head; raises LocalProtocolError for what is none."""
    return h11.Response(status_code=status, headers=list(lines))
