"""Port: processes that hold something, and whether one has ended."""

from typing import Protocol


class Holders(Protocol):
    """Names processes, so that another one can tell later that its holder is no more."""

    @property
    def me(self) -> str | None:
        """The name of this process; None where processes cannot be told apart."""
        ...

    def is_gone(self, name: str) -> bool:
        """Whether that process has certainly ended; False where nobody here can know."""
        ...
