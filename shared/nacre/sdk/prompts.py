"""Prompts: messages that a user picks by name and fills in."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nacre.protocol.context import Context
from nacre.sdk.content import Role, TextContent, ToolContent, present


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """One message; plain text is a block of text."""

    role: Role
    content: ToolContent | str

    def to_dict(self) -> dict[str, Any]:
        """Return the message in wire form."""
        content = self.content
        block = TextContent(content) if isinstance(content, str) else content
        return {"role": self.role, "content": block.to_dict()}


@dataclass(frozen=True, slots=True)
class PromptArgument:
    """Something the user fills in; always text."""

    name: str
    description: str | None = None
    required: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the argument in wire form."""
        return {**present(name=self.name, description=self.description), "required": self.required}


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt, and what writes its messages."""

    name: str
    get: Callable[[Mapping[str, str], Context], Awaitable[Any]]
    arguments: Sequence[PromptArgument] = ()
    title: str | None = None
    description: str | None = None
    icons: Sequence[Mapping[str, Any]] | None = None
    meta: Mapping[str, Any] | None = None

    @property
    def definition(self) -> dict[str, Any]:
        """What `prompts/list` says about it."""
        return present(
            name=self.name,
            title=self.title,
            description=self.description,
            arguments=[item.to_dict() for item in self.arguments] or None,
            icons=None if self.icons is None else list(self.icons),
            _meta=self.meta,
        )
