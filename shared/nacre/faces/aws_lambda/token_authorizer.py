"""Lambda: what API Gateway is told about the token of a request.

The answer is always "authorized", with a context that says whether the token is good: a
refusal of API Gateway's own is a bare 403 that no client takes for "log in again", so the MCP
function refuses instead. It depends on the token alone, because API Gateway keeps it for a
minute and uses it for every path.
"""

import time
from collections.abc import Callable, Mapping

from nacre.access.tokens.token_check import Lookup, admission

Event = Mapping[str, object]
Handler = Callable[[Event, object], dict[str, object]]


def authorizer_handler(lookup: Lookup, *, now: Callable[[], float] = time.time) -> Handler:
    """Return the handler of the authorizer function; payload 2.0, simple responses.

    A lookup that fails is raised: API Gateway then answers 500 and lets nobody in.
    """

    def handle(event: Event, _context: object) -> dict[str, object]:
        context = admission(_authorization(event), lookup, now=now())
        return {"isAuthorized": True, "context": dict(context)}

    return handle


def _authorization(event: Event) -> str | None:
    """Return the identity source, under which the answer is kept, or else the header."""
    sources = event.get("identitySource")
    if isinstance(sources, list) and len(sources) == 1 and isinstance(sources[0], str):
        return sources[0]
    headers = event.get("headers")
    if not isinstance(headers, Mapping):
        return None
    values = [value for name, value in headers.items() if str(name).lower() == "authorization"]
    return values[0] if len(values) == 1 and isinstance(values[0], str) else None
