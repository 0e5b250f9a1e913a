"""The caller of a request, its scopes, and the names of the profiles that it may be in."""

import re

from nacre.core.lazy_dataclasses import dataclass

READ = "mcp:read"
WRITE = "mcp:write"
FULL = frozenset({READ, WRITE})
READ_ONLY = frozenset({READ})
# One part of a URL, and shorter than a UUID, so it is never the id of a Being.
_PROFILE_NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")
PROFILE_NAME_RULE = "1 to 32 of a-z, 0-9 and '-', and a letter first"


def is_profile_name(text: str) -> bool:
    """Tell whether a profile may have this name."""
    return _PROFILE_NAME.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Principal:
    """A caller that has proven who it is; `subject` is a token's id, never the token.

    With a `profile` it sees and reaches only what is in that profile of its Being's policy.
    """

    subject: str
    being_id: str
    scopes: frozenset[str]
    client: str | None = None
    profile: str = ""

    @property
    def may_write(self) -> bool:
        """True if calls that change something are allowed."""
        return WRITE in self.scopes
