"""The prompts of one server: registered, listed and filled in."""

import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from nacre.core.errors import InvalidParamsError, NotFoundError
from nacre.core.lazy_dataclasses import dataclass
from nacre.protocol.context import Context
from nacre.sdk.lenient_loading import LeavesOut, check_json
from nacre.sdk.result import CONTENT_TYPES, Role, TextContent, ToolContent, present
from nacre.sdk.schema.signature import Signature, locals_of
from nacre.sdk.text_functions import documentation, text_runner, text_signature


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
        """The prompt as `prompts/list` describes it."""
        return present(
            name=self.name,
            title=self.title,
            description=self.description,
            arguments=[item.to_dict() for item in self.arguments] or None,
            icons=None if self.icons is None else list(self.icons),
            _meta=self.meta,
        )


F = TypeVar("F", bound=Callable[..., Awaitable[Any]])


class PromptShelf(LeavesOut):
    """Prompts, in the order of registration."""

    def __init__(self) -> None:
        super().__init__()
        self._prompts: dict[str, Prompt] = {}
        self._prompt_definitions: tuple[dict[str, Any], ...] = ()

    def register_prompt(self, prompt: Prompt) -> None:
        """Add a prompt; one with the same name is replaced."""
        with self.leaving_out("prompt", prompt.name):
            check_json(prompt.definition)
            self._prompts[prompt.name] = prompt
            self._prompt_definitions = tuple(item.definition for item in self._prompts.values())

    def prompt(
        self,
        name: str | None = None,
        *,
        title: str | None = None,
        description: str | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Callable[[F], F]:
        """Make an async function the writer of a prompt.

        Its parameters are the prompt's arguments. It returns text, content, a
        PromptMessage, or a list of these.
        """

        def decorate(function: F) -> F:
            known_as = name or function.__name__.replace("_", "-")
            with self.leaving_out("prompt", known_as):
                signature = text_signature(function, locals_of(sys._getframe(1)))
                self.register_prompt(
                    Prompt(
                        name=known_as,
                        get=text_runner(function, signature),
                        arguments=_arguments(signature),
                        title=title,
                        description=description or documentation(function),
                        meta=meta,
                    )
                )
            return function

        return decorate

    def prompts(self) -> Sequence[Mapping[str, Any]]:
        """Return the prompts; the same object while nothing changed."""
        return self._prompt_definitions

    def has_prompt(self, name: str) -> bool:
        """Tell whether there is a prompt of that name."""
        return name in self._prompts

    async def get_prompt(
        self, name: str, arguments: Mapping[str, str], context: Context | None = None
    ) -> dict[str, Any]:
        """Return the prompt's messages.

        An unknown name raises NotFoundError, a missing or wrong argument InvalidParamsError.
        """
        prompt = self._prompts.get(name)
        if prompt is None:
            raise NotFoundError(f"Prompt not found: {name[:200]}")
        for argument in prompt.arguments:
            if argument.required and argument.name not in arguments:
                raise InvalidParamsError(f"prompt '{name}': argument '{argument.name}' is missing")
        messages = _messages(await prompt.get(arguments, context or Context.detached()))
        return present(
            description=prompt.description, messages=[message.to_dict() for message in messages]
        )


def _arguments(signature: Signature) -> tuple[PromptArgument, ...]:
    return tuple(
        PromptArgument(item.name, item.shape.schema.get("description"), item.required)
        for item in signature.parameters
    )


def _messages(answer: Any) -> list[PromptMessage]:
    parts = answer if isinstance(answer, list | tuple) else [answer]
    messages = []
    for part in parts:
        if isinstance(part, PromptMessage):
            messages.append(part)
        elif isinstance(part, (str, *CONTENT_TYPES)):
            messages.append(PromptMessage("user", part))
        else:
            raise TypeError(
                f"a prompt returns messages, content or text, not {type(part).__name__}"
            )
    return messages
