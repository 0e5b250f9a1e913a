"""Suggestions for the arguments of prompts and resource templates."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from nacre.core.limits import MAX_COMPLETIONS
from nacre.sdk.content import present

Kind = Literal["ref/prompt", "ref/resource"]
Complete = Callable[[str, Mapping[str, str]], Awaitable["Completion | Sequence[str]"]]


@dataclass(frozen=True, slots=True)
class Completion:
    """Suggestions, best first, with how many there are in all where that is known."""

    values: Sequence[str]
    total: int | None = None
    has_more: bool | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the suggestions in wire form, cut to what one answer may carry."""
        values = list(self.values)
        total, has_more = self.total, self.has_more
        if len(values) > MAX_COMPLETIONS:
            total, has_more = total or len(values), True
        return present(values=values[:MAX_COMPLETIONS], total=total, hasMore=has_more)


class Completions:
    """Who suggests values for which argument of what."""

    def __init__(self) -> None:
        self._providers: dict[tuple[Kind, str, str], Complete] = {}

    def add(self, kind: Kind, of: str, argument: str, provider: Complete) -> None:
        """Add a provider; one for the same argument is replaced."""
        self._providers[kind, of, argument] = provider

    async def suggest(
        self, kind: Kind, of: str, argument: str, typed: str, known: Mapping[str, str]
    ) -> dict[str, Any]:
        """Return suggestions for what was typed; nobody to ask means none."""
        provider = self._providers.get((kind, of, argument))
        if provider is None:
            return {"values": []}
        answer = await provider(typed, known)
        return (answer if isinstance(answer, Completion) else Completion(answer)).to_dict()
