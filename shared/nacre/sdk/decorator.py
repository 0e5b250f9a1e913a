"""`@tool`: a tool from an async function."""

import functools
import inspect
import sys
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, Generic, ParamSpec, TypeVar, overload

from nacre.protocol.context import Context
from nacre.sdk.lenient_loading import is_loading
from nacre.sdk.schema.signature import Names, locals_of, read_signature
from nacre.sdk.schema.type_hints import Hints
from nacre.sdk.tool import Prepared, TaskSupport, Tool, WrongTool

P = ParamSpec("P")
R = TypeVar("R")


class FunctionTool(Tool, Generic[P, R]):
    """A tool made from an async function; calling it runs the function as it is written."""

    __name__: str
    __wrapped__: Callable[P, Coroutine[Any, Any, R]]

    def __init__(
        self,
        function: Callable[P, Coroutine[Any, Any, R]],
        *,
        name: str | None = None,
        description: str | None = None,
        input_schema: Mapping[str, Any] | None = None,
        output_schema: Mapping[str, Any] | type | None = None,
        names: Names = dict,
        **options: Any,
    ) -> None:
        signature = read_signature(function, names)
        name = name if name is not None else function.__name__.replace("_", "-")
        documented = inspect.cleandoc(function.__doc__ or "") or f"Tool: {name}"
        super().__init__(
            name,
            documented if description is None else description,
            signature.schema if input_schema is None else input_schema,
            _prepared(function, signature.binder()),
            output_schema=_output_schema(output_schema, names),
            **options,
        )
        if input_schema is None:
            self._nullable = signature.nullable
        self._function = function
        functools.update_wrapper(self, function)

    async def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the function; its arguments are neither checked nor converted."""
        return await self._function(*args, **kwargs)


def _prepared(
    function: Callable[..., Coroutine[Any, Any, Any]],
    bind: Callable[[Mapping[str, Any], Context], dict[str, Any]],
) -> Prepared:
    def run(arguments: dict[str, Any], context: Context) -> Awaitable[Any]:
        return function(**bind(arguments, context))

    return Prepared(run)


@overload
def tool(function: Callable[P, Coroutine[Any, Any, R]], /) -> FunctionTool[P, R]: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    title: str | None = None,
    read_only: bool | None = None,
    destructive: bool | None = None,
    idempotent: bool | None = None,
    open_world: bool | None = None,
    input_schema: Mapping[str, Any] | None = None,
    output_schema: Mapping[str, Any] | type | None = None,
    blocking: bool = False,
    task: TaskSupport | None = None,
    icons: Sequence[Mapping[str, Any]] | None = None,
    meta: Mapping[str, Any] | None = None,
) -> Callable[[Callable[P, Coroutine[Any, Any, R]]], FunctionTool[P, R]]: ...


def tool(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Make a tool from an async function.

    The name defaults to the function's with '-' for '_', the description to its
    docstring, the input schema to its signature. A parameter annotated `Context`
    receives the call's context and is not an argument. The function returns a
    ToolResult, content, text, or a value with a JSON form (see `result_of`).

    A sync function, a method, or parameters without names raise TypeError.
    """
    if function is not None:
        return _made(function, locals_of(sys._getframe(1)), options)

    def decorate(function: Callable[..., Any]) -> Tool:
        return _made(function, locals_of(sys._getframe(1)), options)

    return decorate


def _made(function: Callable[..., Any], names: Names, options: Mapping[str, Any]) -> Tool:
    """Return the tool; while a file is loaded, a wrong one is left out by its server."""
    try:
        return FunctionTool(function, names=names, **options)
    except Exception as error:
        if not is_loading():
            raise
        name = options.get("name") or getattr(function, "__name__", "?").replace("_", "-")
        return WrongTool(str(name), error)


def _output_schema(declared: Mapping[str, Any] | type | None, names: Names) -> Any:
    if declared is None or isinstance(declared, Mapping):
        return declared
    hints = Hints(names())
    shape = hints.of(declared)
    if hints.definitions.schemas:
        return {**shape.schema, "$defs": hints.definitions.schemas}
    return shape.schema
