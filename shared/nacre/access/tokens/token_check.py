"""The check of a token against its stored row.

It is the same in the authorizer function and in the laptop server. It never looks at the path,
because API Gateway caches the result and reuses it for every path.
"""

from collections.abc import Callable, Mapping

from nacre.access.tokens.token_format import digest, kind_of
from nacre.core.token_prefixes import API, OAUTH_ACCESS

Lookup = Callable[[str], Mapping[str, object] | None]
"""Returns the stored row for a token's SHA-256; raises UnavailableError if it cannot tell."""

TOKEN_SCHEMA = 2
"""The newest version of a stored row. Newer rows are refused: they may restrict a token further.

A row of version 2 binds its token to a profile, which a reader of version 1 would not notice.
"""

INVALID: Mapping[str, str] = {"auth": "invalid"}
_MAX_HEADER = 256  # a scheme, blanks and 53 characters; longer ones are not parsed


def passes(context: Mapping[str, object]) -> str:
    """Return the `auth` of a context whose token is valid.

    It differs for a token that is bound to a profile: a function that is older than profiles
    would not notice the profile, and it refuses what is not `ok`.
    """
    return "bound" if context.get("profile") else "ok"


def token_key(sha256: str) -> tuple[str, str]:
    """Return the partition and sort key of a token's row."""
    return f"T#{sha256}", "T"


def admission(authorization: str | None, lookup: Lookup, *, now: float) -> Mapping[str, str]:
    """Return the authorizer context: `auth` is `ok`, with facts about the caller, or `invalid`."""
    token = bearer_token(authorization)
    if token is None:
        return INVALID
    kind = kind_of(token)
    if kind not in (API, OAUTH_ACCESS):
        return INVALID
    row = lookup(digest(token))
    if row is None or row.get("kind") != kind:
        return INVALID
    schema, profile = row.get("schema", 1), row.get("profile")
    if schema not in (1, TOKEN_SCHEMA) or (schema == TOKEN_SCHEMA) is not bool(profile):
        return INVALID
    if not is_live(row, now=now):
        return INVALID
    bound = {"profile": str(profile)} if profile else {}
    return {
        "auth": passes(bound),
        "kind": kind,
        "token_id": str(row["token_id"]),
        "being_id": str(row["being_id"]),
        "scopes": str(row["scopes"]),
        "client": str(row.get("client") or ""),
        "resource": str(row.get("resource") or ""),
        **bound,
    }


def bearer_token(authorization: str | None) -> str | None:
    """Return the token of a Bearer header, or None when the header has another form."""
    if authorization is None or len(authorization) > _MAX_HEADER:
        return None
    scheme, _, credentials = authorization.strip(" \t").partition(" ")
    token = credentials.strip(" \t")
    return token if scheme.lower() == "bearer" and token else None


def is_live(row: Mapping[str, object], *, now: float) -> bool:
    """Tell whether a stored token is neither revoked nor expired.

    A token expires by the clock of the machine that checks it, without leeway. Its creation time
    is not compared, so a token from a machine whose clock runs ahead works at once.
    """
    expires = row.get("expires")
    if row.get("revoked") is not None or isinstance(expires, str | bool) or expires is None:
        return False
    return float(expires) > now  # type: ignore[arg-type]  # int, float or the store's Decimal
