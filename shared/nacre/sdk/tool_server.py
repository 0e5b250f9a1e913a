"""A server: tools, resources and prompts under one name."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from nacre.core.errors import InvalidInputError, NotFoundError
from nacre.protocol.context import Context
from nacre.sdk.completion import Complete, Completions
from nacre.sdk.lenient_loading import check_json
from nacre.sdk.prompt_registry import PromptShelf
from nacre.sdk.resource_registry import ResourceShelf
from nacre.sdk.tool import Tool, WrongTool

T = TypeVar("T", bound=Tool)
C = TypeVar("C", bound=Complete)


class ToolServer(ResourceShelf, PromptShelf):
    """Holds tools, resources and prompts, and answers for them.

    Lists keep the order of registration. Registering a name (or a URI) again replaces
    the earlier entry.
    """

    def __init__(
        self,
        name: str,
        version: str,
        *,
        title: str | None = None,
        instructions: str | None = None,
    ) -> None:
        ResourceShelf.__init__(self)
        PromptShelf.__init__(self)
        self.name = name
        self.version = version
        self.title = title
        self.instructions = instructions
        self._tools: dict[str, Tool] = {}
        self._unlisted: frozenset[str] = frozenset()
        self._tool_definitions: tuple[dict[str, Any], ...] = ()
        self._completions = Completions()

    # Tools.

    def register_tool(self, tool: T, *, listed: bool = True) -> T:
        """Add a tool; one with the same name is replaced.

        A tool that is not listed can be called, but no client or model sees it in a list.
        """
        with self.leaving_out("tool", getattr(tool, "name", getattr(tool, "__name__", tool))):
            if not isinstance(tool, Tool):
                raise TypeError(
                    f"{getattr(tool, '__name__', tool)!r} is not a tool: decorate it with @tool"
                )
            if isinstance(tool, WrongTool):
                raise tool.error
            check_json(tool.definition)
            self._tools[tool.name] = tool
            self._unlisted -= {tool.name}
            if not listed:
                self._unlisted |= {tool.name}
            self._tool_definitions = tuple(
                item.definition for item in self._tools.values() if item.name not in self._unlisted
            )
        return tool

    def get_tool(self, name: str) -> Tool | None:
        """Return the tool, None for an unknown name."""
        return self._tools.get(name)

    def list_tools(self) -> list[dict[str, Any]]:
        """Return the definitions, as the result of `tools/list` holds them."""
        return list(self._tool_definitions)

    def tools(self) -> Sequence[Mapping[str, Any]]:
        """Return the definitions; the same object while nothing changed."""
        return self._tool_definitions

    def check_arguments(self, name: str, arguments: Mapping[str, Any]) -> str | None:
        """Return the problem with the arguments, or None."""
        return self._known(name).problem(arguments)

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context | None = None
    ) -> dict[str, Any]:
        """Check the arguments, run the tool and return its result in wire form.

        Wrong arguments raise InvalidArgumentError. Exceptions of the handler are passed on to the
        caller.
        """
        return (await self._known(name).call(arguments, context)).to_dict()

    def check(self) -> None:
        """Compile every schema now; a test that calls this finds a wrong one early."""
        for tool in self._tools.values():
            tool.check()

    async def handle_jsonrpc(self, request: Mapping[str, Any]) -> dict[str, Any] | None:
        """Answer one JSON-RPC message; return None for a notification.

        Serves `initialize`, `tools/list` and `tools/call` as of 2025-11-25. Errors:
        -32601 for another method, -32602 for an unknown tool, -32603 when the handler
        raised or its arguments were missing or wrong, -32600 for an invalid request.
        """
        # Servers behind the wire protocol never need this module.
        from nacre.sdk.jsonrpc import respond  # noqa: PLC0415

        return await respond(self, request)

    def _known(self, name: str) -> Tool:
        tool = self._tools.get(name)
        if tool is None:
            raise NotFoundError(f"Tool not found: {name[:200]}")
        return tool

    # Completion.

    def completion(
        self, argument: str, *, prompt: str | None = None, template: str | None = None
    ) -> Callable[[C], C]:
        """Make an async function suggest values for an argument of a prompt or a template.

        It gets the typed text and the arguments known so far, and returns strings, best first,
        or a Completion.
        """
        if (prompt is None) == (template is None):
            raise TypeError("name either the prompt or the template that is completed")

        def decorate(provider: C) -> C:
            if prompt is not None:
                self._completions.add("ref/prompt", prompt, argument, provider)
            else:
                self._completions.add("ref/resource", template or "", argument, provider)
            return provider

        return decorate

    async def complete(
        self,
        ref: Mapping[str, Any],
        argument: Mapping[str, Any],
        context_arguments: Mapping[str, str],
    ) -> dict[str, Any]:
        """Return `{"values": [...]}`: the suggestions for the text that the user has typed."""
        name, typed = argument.get("name", ""), argument.get("value", "")
        match ref:
            case {"type": "ref/prompt", "name": str(of)}:
                if not self.has_prompt(of):
                    raise NotFoundError(f"Prompt not found: {of[:200]}")
                return await self._completions.suggest(
                    "ref/prompt", of, name, typed, context_arguments
                )
            case {"type": "ref/resource", "uri": str(of)}:
                if not self.has_resource(of):
                    raise NotFoundError(f"Resource template not found: {of[:200]}")
                return await self._completions.suggest(
                    "ref/resource", of, name, typed, context_arguments
                )
            case _:
                raise InvalidInputError(
                    "'ref' must be a ref/prompt with a name or a ref/resource with a uri"
                )
