"""HTTP/1.1 without the requests that two programs on the way may read differently."""

import h11

from nacre.core.limits import MAX_HEAD_BYTES

_REASONS = {
    400: "bad request",
    408: "request timeout",
    413: "too large",
    431: "headers too large",
    501: "not implemented",
    505: "HTTP version not supported",
}


class StrictConnection(h11.Connection):
    """The server's side of one connection.

    `status` is the answer to the request that was refused last.
    """

    def __init__(self) -> None:
        super().__init__(h11.SERVER, max_incomplete_event_size=MAX_HEAD_BYTES)
        self.status = 400

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """Return the next event; raises RemoteProtocolError for a request to refuse."""
        try:
            event = super().next_event()
            if isinstance(event, h11.Request):
                _check(event)
        except h11.RemoteProtocolError as error:
            self.status = error.error_status_hint
            raise
        return event


def _check(request: h11.Request) -> None:
    if request.http_version not in (b"1.0", b"1.1"):
        raise h11.RemoteProtocolError("unknown HTTP version", error_status_hint=505)
    size = len(request.target) + sum(len(name) + len(value) + 4 for name, value in request.headers)
    if size > MAX_HEAD_BYTES:  # h11 only measures a head that comes in pieces
        raise h11.RemoteProtocolError("the head is too large", error_status_hint=431)
    names = {name for name, _ in request.headers}
    if b"transfer-encoding" in names and (
        b"content-length" in names or request.http_version == b"1.0"
    ):
        # Of the two lengths a proxy may believe the other one (RFC 9112, section 6.1).
        raise h11.RemoteProtocolError("two lengths of one body")


def reason(status: int) -> str:
    """Return the words for the status of a refusal."""
    return _REASONS.get(status, _REASONS[400])


def refusal(status: int, *headers: tuple[str, str]) -> bytes:
    """Return a whole answer after which the connection closes."""
    text = reason(status)
    lines = [
        f"HTTP/1.1 {status} {text}",
        "content-type: text/plain; charset=utf-8",
        f"content-length: {len(text)}",
        "connection: close",
        *(f"{name}: {value}" for name, value in headers),
    ]
    return ("\r\n".join(lines) + f"\r\n\r\n{text}").encode("ascii")
