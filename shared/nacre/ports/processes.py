"""Port: processes that hold something, and whether one has ended."""

from typing import Protocol


class Holders(Protocol):
    """Names processes, so that another one can tell later that its holder has ended."""

    @property
    def me(self) -> str | None:
        """The name of this process; None if processes cannot be told apart."""
        ...

    def is_gone(self, name: str) -> bool:
        """Tell whether that process has certainly ended."""
        ...
