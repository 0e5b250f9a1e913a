"""Authentication: from the header and URL of a request to a principal, or an error."""

import re
from collections.abc import Mapping

from nacre.access.tokens.token_check import Lookup, admission, passes
from nacre.core.clock import Clock, system_clock
from nacre.core.errors import ForbiddenError, UnauthorizedError, UnknownBeingError
from nacre.core.lazy_dataclasses import replace
from nacre.core.token_prefixes import API, OAUTH_ACCESS
from nacre.protocol.http.server_address import resource_of
from nacre.protocol.principal import FULL, READ, Principal, is_profile_name

_BEING_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

_NOTHING_SENT = "no token was sent; send it as the header 'Authorization: Bearer TOKEN'"
_NOT_VALID = (
    "the token is unknown, malformed, expired or revoked; make one with 'nacre token create'"
)
_NO_BEING = (
    "an API token (brt_) needs its Being in the URL: /mcp/BEING_ID or /mcp?being_id=BEING_ID, "
    "or in a profile /mcp/PROFILE?being_id=BEING_ID"
)
_OTHER_BEING = "this token does not open that Being"
# One text for all other URLs, so that it does not tell which profiles there are.
_OTHER_PROFILE = "this token is bound to a profile; use it at that profile's URL: /mcp/PROFILE"


def is_being_id(text: str) -> bool:
    """Tell whether the text has the form of a Being's id: a UUID in lower case."""
    return _BEING_ID.fullmatch(text) is not None


class Gate:
    """Admits callers of the laptop server; on AWS the authorizer function checks the token."""

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
        """Return the holder of a token when no URL names a Being; raises UnauthorizedError."""
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

    `path_being` is the part of the path that names a Being or a profile. `base` is the address
    that was called, if it is known; an OAuth token is for one address.

    Raises UnauthorizedError unless the context passes and the token is for this resource.
    Raises UnknownBeingError when a Being's id in the URL is malformed. Raises ForbiddenError when
    path, query and token name different Beings (with the same text whether or not the Being
    exists), when an API token comes without a Being, or when a token that is bound to a profile
    comes to another URL.
    """
    if context is None:
        raise UnauthorizedError(_NOTHING_SENT, presented=False)
    principal = _principal(context)
    if principal is None or not _is_for_this_resource(context, principal, base):
        raise UnauthorizedError(_NOT_VALID, presented=True)
    profile = ""
    if path_being and is_profile_name(path_being):
        path_being, profile = "", path_being
    named = {being.lower() for being in (path_being, query_being) if being}
    if not all(is_being_id(being) for being in named):
        raise UnknownBeingError()
    if not named and context["kind"] == API:
        raise ForbiddenError(_NO_BEING)
    if named - {principal.being_id}:
        raise ForbiddenError(_OTHER_BEING)
    if profile == principal.profile:
        return principal
    if principal.profile:
        raise ForbiddenError(_OTHER_PROFILE)
    return replace(principal, profile=profile)


def _is_for_this_resource(
    context: Mapping[str, object], principal: Principal, base: str | None
) -> bool:
    """Tell whether a token may be used here; an OAuth token was issued for one resource."""
    if context["kind"] != OAUTH_ACCESS:
        return True
    resource = context.get("resource")
    if not isinstance(resource, str):
        return False
    parts = (principal.profile,) if principal.profile else (None, principal.being_id)
    resources = tuple(resource_of(base or "", part) for part in parts)
    return resource in resources if base else resource.endswith(resources)


def _principal(context: Mapping[str, object]) -> Principal | None:
    """Return the principal of a complete context, else None."""
    if context.get("auth") != passes(context) or context.get("kind") not in (API, OAUTH_ACCESS):
        return None
    token_id, being_id, scopes = (context.get(name) for name in ("token_id", "being_id", "scopes"))
    if not (isinstance(token_id, str) and isinstance(being_id, str) and isinstance(scopes, str)):
        return None
    granted = FULL & set(scopes.split())
    if not token_id or not is_being_id(being_id) or READ not in granted:
        return None
    client, profile = context.get("client"), context.get("profile", "")
    if not isinstance(profile, str):
        return None
    return Principal(
        subject=token_id,
        being_id=being_id,
        scopes=frozenset(granted),
        client=client if isinstance(client, str) and client else None,
        profile=profile,
    )
