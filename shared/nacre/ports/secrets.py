"""Secrets that a person sets by name, such as the key of a model's provider."""

from typing import Protocol


class Secrets(Protocol):
    """Named texts that are kept apart from everything else and shown to nobody.

    A store that cannot answer raises UnavailableError, and a name that is not a secret's
    InvalidInputError; no message holds a value.
    """

    def get(self, name: str) -> str | None:
        """Return the secret, or None when it is not set."""
        ...

    def set(self, name: str, value: str) -> None:
        """Keep the secret, in place of what was there."""
        ...

    def unset(self, name: str) -> bool:
        """Forget the secret; False when it was not set."""
        ...

    def names(self) -> list[str]:
        """Return the names that are set, in order."""
        ...
