"""A tool: the definition that a model sees, and the handler that runs when it is called."""

import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, runtime_checkable

from nacre.core.errors import InvalidArgumentError, InvalidInputError, ToolError
from nacre.protocol.context import Context
from nacre.sdk.result import ABSENT, ToolResult, present, result_of
from nacre.sdk.schema.tool_schema import check_schema
from nacre.sdk.tool_names import check_tool_name

if TYPE_CHECKING:
    from nacre.sdk.schema.validation import Validator

# What clients add to the arguments of every call: n8n the first four, others the last.
CLIENTS_OWN = frozenset({"sessionId", "chatInput", "toolCallId", "tool", "tool_call_description"})

TaskSupport = Literal["optional", "required"]

Run = Callable[[dict[str, Any], Context], Awaitable[Any]]
"""Answers one call, given its checked arguments and its context."""


class Prepared:
    """A handler that `@tool` has made from a function's signature."""

    __slots__ = ("run",)

    def __init__(self, run: Run) -> None:
        self.run = run


@runtime_checkable
class ToolHandler(Protocol):
    """An object that runs when a tool is called, and may hold state."""

    async def call(self, arguments: dict[str, Any]) -> Any:
        """Answer one call; raise ToolError to say why that is not possible."""
        ...


class ContextToolHandler(Protocol):
    """A handler that also gets the context: who calls, and a way to talk back."""

    async def call(self, arguments: dict[str, Any], context: Context) -> Any:
        """Answer one call; raise ToolError to say why that is not possible."""
        ...


Handler = (
    ToolHandler
    | ContextToolHandler
    | Callable[[dict[str, Any]], Coroutine[Any, Any, Any]]
    | Callable[[dict[str, Any], Context], Coroutine[Any, Any, Any]]
)


class Tool:
    """A tool with a schema written by hand; `@tool` makes one from a function.

    The handler is an object with `async def call`, or an async function; it takes the
    arguments, and the context if it has a second parameter. The schemas reach clients
    verbatim. `output_schema` describes structured content and is checked on every
    answer. The hints are None if they are unknown. `blocking`
    marks a handler that blocks its thread and never awaits an event loop. `task` marks
    long work, which callers that can fetch a result later get as a task: the handler then
    runs in the worker. With "required" other callers get an error, with "optional" they wait.
    """

    def __init__(
        self,
        name: str,
        description: str,
        schema: Mapping[str, Any],
        handler: Handler | Prepared,
        *,
        title: str | None = None,
        read_only: bool | None = None,
        destructive: bool | None = None,
        idempotent: bool | None = None,
        open_world: bool | None = None,
        output_schema: Mapping[str, Any] | None = None,
        blocking: bool = False,
        task: TaskSupport | None = None,
        icons: Sequence[Mapping[str, Any]] | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = check_tool_name(name)
        self.description = description
        self.input_schema = schema
        self.output_schema = output_schema
        self.blocking = blocking
        self.task = task
        self.read_only = read_only is True
        check_schema(schema, tool=name)
        if output_schema is not None:
            check_schema(output_schema, tool=name, root=None)
        hints = present(
            readOnlyHint=read_only,
            destructiveHint=destructive,
            idempotentHint=idempotent,
            openWorldHint=open_world,
        )
        self._definition = present(
            name=name,
            title=title,
            description=description,
            inputSchema=schema,
            outputSchema=output_schema,
            annotations=hints or None,
            icons=None if icons is None else list(icons),
            _meta=meta,
        )
        self._run = handler.run if isinstance(handler, Prepared) else _runner(name, handler)
        # Arguments that may be null although the schema is that of the value.
        self._nullable: frozenset[str] = frozenset()
        self._is_closed = False
        self._arguments: Validator | None = None
        self._output: Validator | None = None

    def closed(self) -> Self:
        """Return the tool as one that refuses arguments which its schema does not name.

        Names that clients add to a model's arguments are still accepted, because the model cannot
        leave them out: those in `CLIENTS_OWN`, and names that begin with an underscore.
        """
        tool = copy(self)
        tool.input_schema = {**self.input_schema, "additionalProperties": False}
        tool._definition = {**self._definition, "inputSchema": tool.input_schema}
        tool._is_closed = True
        tool._arguments = None
        return tool

    @property
    def definition(self) -> dict[str, Any]:
        """The tool as `tools/list` describes it."""
        return self._definition

    def problem(self, arguments: Mapping[str, Any]) -> str | None:
        """Return the problem with the arguments, or None."""
        for name in self._nullable:
            if name in arguments and arguments[name] is None:
                arguments = {key: value for key, value in arguments.items() if key != name}
        if self._is_closed:
            arguments = self._without_clients_own(arguments)
        validator = self._arguments
        if validator is None:
            validator = self._arguments = _compile(self.input_schema, self.name)
        return validator.problem(arguments)

    async def call(self, arguments: dict[str, Any], context: Context | None = None) -> ToolResult:
        """Check the arguments and run the handler; its exceptions are passed on."""
        problem = self.problem(arguments)
        if problem is not None:
            raise InvalidArgumentError(problem)
        if context is None:
            context = Context.detached()
        if self.task is not None:
            await context.as_task(required=self.task == "required")
        answer = await self._run(arguments, context)
        if type(answer) is ToolResult and self.output_schema is None:
            return answer
        return self._result(answer)

    def check(self) -> None:
        """Compile the schemas now; raises InvalidSchemaError for one that is not valid."""
        self._arguments = _compile(self.input_schema, self.name)
        if self.output_schema is not None:
            self._output = _compile(self.output_schema, self.name)

    def _without_clients_own(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        properties = self.input_schema.get("properties", {})
        return {
            name: value
            for name, value in arguments.items()
            if name in properties or not (name.startswith("_") or name in CLIENTS_OWN)
        }

    def _result(self, answer: Any) -> ToolResult:
        schema = self.output_schema
        try:
            result = result_of(answer, has_output_schema=schema is not None)
        except InvalidInputError as error:
            raise ToolError(f"tool '{self.name}' returned what cannot be sent: {error}") from error
        if schema is None or result.is_error:
            return result
        if result.structured_content is ABSENT:
            raise ToolError(f"tool '{self.name}' promises structured content and returned none")
        validator = self._output
        if validator is None:
            validator = self._output = _compile(schema, self.name)
        problem = validator.problem(result.structured_content, called="field")
        if problem is not None:
            raise ToolError(f"tool '{self.name}' returned what it does not promise: {problem}")
        return result

    def __repr__(self) -> str:
        """Return the kind and the name."""
        return f"<{type(self).__name__} {self.name}>"


class WrongTool(Tool):
    """Stands for a tool whose definition is wrong; a server leaves it out."""

    def __init__(self, name: str, error: Exception) -> None:
        self.name = name
        self.error = error

    def closed(self) -> Self:
        """Return the same: there is nothing to close."""
        return self


def _runner(name: str, handler: Handler) -> Run:
    call: Any = getattr(handler, "call", handler)
    if not inspect.iscoroutinefunction(call):
        raise TypeError(
            f"tool '{name}': the handler must have 'async def call(self, arguments)' "
            "or be an async function of the arguments"
        )
    required = [
        parameter
        for parameter in inspect.signature(call).parameters.values()
        if parameter.default is parameter.empty
    ]
    if len(required) > 1:
        wants_context: Run = call
        return wants_context

    def run(arguments: dict[str, Any], _context: Context) -> Awaitable[Any]:
        answer: Awaitable[Any] = call(arguments)
        return answer

    return run


def _compile(schema: Mapping[str, Any], tool: str) -> "Validator":
    # Listing tools must cost nothing but the standard library.
    from nacre.sdk.schema.validation import Validator  # noqa: PLC0415

    return Validator(schema, tool=tool)
