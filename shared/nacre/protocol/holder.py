"""The holder of a call's results: the one under which they are noted, and asked for later."""

from nacre.ports.untrusted_results import Holder
from nacre.protocol.context import Context


def holder_of(context: Context) -> Holder | None:
    """Return the receiver of a call's result; None for a call in process, without a client."""
    principal = context.principal
    if principal is None:
        return None
    return Holder(principal.being_id, principal.subject)
