"""Secrets that a person sets by name, such as the key of a model's provider."""

from typing import Protocol


class Secrets(Protocol):
    """Named secret texts, stored apart from all other data and never displayed.

    A store that cannot answer raises UnavailableError, and a name that is not a secret's
    InvalidInputError; no message holds a value.
    """

    def get(self, name: str) -> str | None:
        """Return the secret, or None when it is not set."""
        ...

    def set(self, name: str, value: str) -> None:
        """Store the secret; it replaces an earlier one."""
        ...

    def unset(self, name: str) -> bool:
        """Remove the secret; return False when it was not set."""
        ...

    def names(self) -> list[str]:
        """Return the names that are set, in order."""
        ...
