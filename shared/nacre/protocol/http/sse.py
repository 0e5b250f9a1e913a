"""Server-sent events: how several messages travel in one HTTP answer."""

ALIVE = b":\n\n"  # a comment, which clients skip


def event(message: bytes) -> bytes:
    """Return the event that carries one JSON message."""
    return b"event: message\ndata: " + message + b"\n\n"
