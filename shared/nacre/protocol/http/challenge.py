"""The header of a refusal that tells the client how to log in or ask for more rights."""

from collections.abc import Mapping

from nacre.core.errors import ForbiddenError, InsufficientScopeError, UnauthorizedError
from nacre.protocol.http.server_address import resource_of
from nacre.protocol.principal import READ, WRITE

WELL_KNOWN = "/.well-known/oauth-protected-resource"
_EVERYTHING = f"{READ} {WRITE}"


def metadata_url(base_url: str, *, part: str | None = None) -> str:
    """Return the URL of the MCP endpoint's metadata; its `part` has been checked."""
    return resource_of(f"{base_url.rstrip('/')}{WELL_KNOWN}", part)


def www_authenticate(
    error: UnauthorizedError | ForbiddenError, *, resource_metadata: str | None = None
) -> str | None:
    """Return the WWW-Authenticate value, or None if logging in again would not help.

    `resource_metadata` is a URL from `metadata_url`, given only if it is served.
    """
    if isinstance(error, ForbiddenError) and not isinstance(error, InsufficientScopeError):
        return None
    fields = {**challenge_fields(error)}
    if resource_metadata is not None:
        fields["resource_metadata"] = resource_metadata
    return "Bearer " + ", ".join(f'{name}="{_quotable(value)}"' for name, value in fields.items())


def challenge_fields(error: UnauthorizedError | ForbiddenError) -> Mapping[str, str]:
    """Return `error`, `error_description` and `scope`, for the header and for the body.

    The body repeats them because API Gateway renames the header on its way out.
    """
    match error:
        case InsufficientScopeError():
            return {
                "error": "insufficient_scope",
                "error_description": str(error),
                "scope": " ".join(error.required),
            }
        case UnauthorizedError(presented=True):
            return {
                "error": "invalid_token",
                "error_description": str(error),
                "scope": _EVERYTHING,
            }
        case UnauthorizedError():
            return {"scope": _EVERYTHING}
        case _:
            return {"error": "access_denied", "error_description": str(error)}


def _quotable(text: str) -> str:
    """Return the text as it may stand between quotes in a header: printable ASCII, no quote."""
    return "".join(c if " " <= c <= "~" and c not in '"\\' else "'" for c in text)
