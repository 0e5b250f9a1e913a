"""A language model in a conversation: it answers in words, or asks for tools to be called."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from nacre.core.lazy_dataclasses import dataclass, field
from nacre.core.limits import IMAGE_TOKENS, TOKEN_BYTES


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A call that the model wants made; `arguments` is JSON, as far as the model could write it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ChatMedia:
    """An image or a sound that the model has made."""

    mime_type: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """The reply of a model: its text, the tools to call, and the tokens that it cost."""

    text: str
    requests: tuple[ToolRequest, ...] = ()
    media: tuple[ChatMedia, ...] = ()
    is_cut: bool = False  # the answer was cut off at the token limit
    input_tokens: int = 0
    output_tokens: int = 0


class Chat(Protocol):
    """One model with one key, for one conversation; the caller checks its answers."""

    name: str

    async def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        *,
        may_call: bool,
        max_tokens: int,
        seconds: float,
    ) -> ChatAnswer:
        """Return the next answer within so many seconds.

        Messages and tools are in the form of OpenAI's chat completions. Raises ModelError when
        no answer is possible; its kind is `too_long` when the model cannot hold so much.
        """
        ...

    async def close(self) -> None:
        """Close the open connections."""
        ...


def tokens_of(messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> int:
    """Return about how many tokens a question has; an image counts by itself, not by its bytes."""
    size = images = 0
    for message in messages:
        content = message.get("content")
        for part in content if isinstance(content, list) else ():
            if part.get("type") == "text":
                size += len(str(part.get("text", "")).encode(errors="replace"))
            else:
                images += 1
        if isinstance(content, str):
            size += len(content.encode(errors="replace"))
        for call in message.get("tool_calls") or ():
            size += len(str(call))
    size += sum(len(str(tool)) for tool in tools)
    return size // TOKEN_BYTES + images * IMAGE_TOKENS + 1
