"""Whose memory a call is about, and what it may leave there."""

from nacre.core.errors import ToolError
from nacre.protocol.context import Context
from nacre.protocol.principal import Principal


def caller(context: Context) -> Principal:
    """Return who calls; the call is about that principal's Being and no other."""
    if context.principal is None:
        raise ToolError("this tool needs a Being: call it through a server, with a token")
    return context.principal
