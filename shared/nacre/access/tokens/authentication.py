"""Who may come in: from a header and a URL to a principal, or a refusal."""

import re
from collections.abc import Mapping

from nacre.access.tokens.token_check import Lookup, admission
from nacre.core.clock import Clock, system_clock
from nacre.core.errors import ForbiddenError, UnauthorizedError, UnknownBeingError
from nacre.core.token_prefixes import API, OAUTH_ACCESS
from nacre.protocol.http.server_address import resource_of
from nacre.protocol.principal import FULL, READ, Principal

_BEING_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

_NOTHING_SENT = "no token was sent; send it as the header 'Authorization: Bearer TOKEN'"
_NOT_VALID = (
    "the token is unknown, malformed, expired or revoked; make one with 'nacre token create'"
)
_NO_BEING = (
    "an API token (brt_) needs its Being in the URL: /mcp/BEING_ID or /mcp?being_id=BEING_ID"
)
_OTHER_BEING = "this token does not open that Being"


def is_being_id(text: str) -> bool:
    """Tell whether the text has the form of a Being's id: a UUID in lower case."""
    return _BEING_ID.fullmatch(text) is not None


class Gate:
    """Admits callers of the laptop server; on AWS the authorizer does the first half."""

    def __init__(self, lookup: Lookup, clock: Clock = system_clock) -> None:
        self._lookup = lookup
        self._clock = clock

    def admit(
        self,
        *,
        authorization: str | None,
        path_being: str | None,
        query_being: str | None,
        base: str | None = None,
    ) -> Principal:
        """Return the caller, or raise as `admit_context` does."""
        if authorization is None:
            raise UnauthorizedError(_NOTHING_SENT, presented=False)
        context = admission(authorization, self._lookup, now=self._clock().timestamp())
        return admit_context(context, path_being=path_being, query_being=query_being, base=base)

    def holder(self, *, authorization: str | None) -> Principal:
        """Return whose token it is, where no URL names a Being; raises UnauthorizedError."""
        if authorization is None:
            raise UnauthorizedError(_NOTHING_SENT, presented=False)
        context = admission(authorization, self._lookup, now=self._clock().timestamp())
        principal = _principal(context)
        if principal is None:
            raise UnauthorizedError(_NOT_VALID, presented=True)
        return principal


def admit_context(
    context: Mapping[str, object] | None,
    *,
    path_being: str | None,
    query_being: str | None,
    base: str | None = None,
) -> Principal:
    """Return the caller that an authorizer context names.

    `base` is the address that was called, where it is known: an OAuth token is for one.

    Raises UnauthorizedError on anything but an `ok` context or for a token that is for
    something else, UnknownBeingError when a Being
    in the URL is malformed, and ForbiddenError when path, query and token do not agree on
    the Being (with one text for Beings that exist and that do not) or when an API token
    comes without one.
    """
    if context is None:
        raise UnauthorizedError(_NOTHING_SENT, presented=False)
    principal = _principal(context)
    if principal is None or not _is_for_this(context, principal.being_id, base):
        raise UnauthorizedError(_NOT_VALID, presented=True)
    named = {being.lower() for being in (path_being, query_being) if being}
    if not all(is_being_id(being) for being in named):
        raise UnknownBeingError()
    if not named and context["kind"] == API:
        raise ForbiddenError(_NO_BEING)
    if named - {principal.being_id}:
        raise ForbiddenError(_OTHER_BEING)
    return principal


def _is_for_this(context: Mapping[str, object], being_id: str, base: str | None) -> bool:
    """Whether this endpoint, or its Being's, is what an OAuth token was given for."""
    if context["kind"] != OAUTH_ACCESS:
        return True
    resource = context.get("resource")
    if not isinstance(resource, str):
        return False
    whole, own = resource_of(base or ""), resource_of(base or "", being_id)
    return resource in (whole, own) if base else resource.endswith((whole, own))


def _principal(context: Mapping[str, object]) -> Principal | None:
    """Return the principal of a context that is complete in every field, else None."""
    if context.get("auth") != "ok" or context.get("kind") not in (API, OAUTH_ACCESS):
        return None
    token_id, being_id, scopes = (context.get(name) for name in ("token_id", "being_id", "scopes"))
    if not (isinstance(token_id, str) and isinstance(being_id, str) and isinstance(scopes, str)):
        return None
    granted = FULL & set(scopes.split())
    if not token_id or not is_being_id(being_id) or READ not in granted:
        return None
    client = context.get("client")
    return Principal(
        subject=token_id,
        being_id=being_id,
        scopes=frozenset(granted),
        client=client if isinstance(client, str) and client else None,
    )
