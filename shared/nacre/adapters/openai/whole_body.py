"""The body of an answer, read whole within a bound of bytes and of time."""

from collections.abc import Callable, Iterable


class BodyTooLongError(Exception):
    """It has more bytes than it may have."""


class BodyTooLateError(Exception):
    """It was not there in time."""


def whole_body(
    pieces: Iterable[bytes], *, most: int, end: float, monotonic: Callable[[], float]
) -> bytes:
    """Return what the pieces are together.

    An HTTP library's time limit is for each read: an endpoint that sends a byte now and then
    would never meet it.
    """
    body = bytearray()
    for piece in pieces:
        body += piece
        if len(body) > most:
            raise BodyTooLongError
        if monotonic() >= end:
            raise BodyTooLateError
    return bytes(body)
