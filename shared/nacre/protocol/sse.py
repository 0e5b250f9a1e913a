"""Server-sent events: how several messages travel in one HTTP answer."""


def event(message: bytes) -> bytes:
    """Return the event that carries one JSON message."""
    return b"event: message\ndata: " + message + b"\n\n"
