"""The state of a real deployment in its cloud, which no emulator shows."""

from collections.abc import Sequence
from typing import Literal, Protocol

from nacre.core.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact about a deployment: `fail` is a problem, `warn` may be one or was not seen."""

    check: str
    state: Literal["ok", "warn", "fail"]
    found: str
    advice: str = ""


SearchedIn = Literal["items", "files", "qdrant"]
"""The items themselves, a file for each Being, or a server."""


class Deployment(Protocol):
    """A deployment that can be looked at from outside."""

    def facts(self) -> Sequence[Fact]:
        """Return every fact; what cannot be read is a fact too. Nothing is changed."""
        ...

    def searched_in(self) -> SearchedIn:
        """Return where searches look for memories."""
        ...
