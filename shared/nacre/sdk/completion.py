"""Suggestions for the arguments of prompts and resource templates."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import MAX_COMPLETIONS
from nacre.sdk.result import present

Kind = Literal["ref/prompt", "ref/resource"]
Complete = Callable[[str, Mapping[str, str]], Awaitable["Completion | Sequence[str]"]]


@dataclass(frozen=True, slots=True)
class Completion:
    """Suggestions, best first, with how many there are in all where that is known."""

    values: Sequence[str]
    total: int | None = None
    has_more: bool | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the suggestions in wire form, cut to the limit of one answer."""
        values = list(self.values)
        total, has_more = self.total, self.has_more
        if len(values) > MAX_COMPLETIONS:
            total, has_more = total or len(values), True
        return present(values=values[:MAX_COMPLETIONS], total=total, hasMore=has_more)


class Completions:
    """The functions that suggest values, by the prompt or template and its argument."""

    def __init__(self) -> None:
        self._providers: dict[tuple[Kind, str, str], Complete] = {}

    def add(self, kind: Kind, of: str, argument: str, provider: Complete) -> None:
        """Add a provider; one for the same argument is replaced."""
        self._providers[kind, of, argument] = provider

    async def suggest(
        self, kind: Kind, of: str, argument: str, typed: str, arguments: Mapping[str, str]
    ) -> dict[str, Any]:
        """Return suggestions for the typed text; none without a provider."""
        provider = self._providers.get((kind, of, argument))
        if provider is None:
            return {"values": []}
        answer = await provider(typed, arguments)
        return (answer if isinstance(answer, Completion) else Completion(answer)).to_dict()
