"""The caller of a request, and its scopes."""

from nacre.core.lazy_dataclasses import dataclass

READ = "mcp:read"
WRITE = "mcp:write"
FULL = frozenset({READ, WRITE})
READ_ONLY = frozenset({READ})


@dataclass(frozen=True, slots=True)
class Principal:
    """A caller that has proven who it is; `subject` is a token's id, never the token."""

    subject: str
    being_id: str
    scopes: frozenset[str]
    client: str | None = None

    @property
    def may_write(self) -> bool:
        """True if calls that change something are allowed."""
        return WRITE in self.scopes
