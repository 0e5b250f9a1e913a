"""Async functions whose arguments are text, as prompts and resource templates call them."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from nacre.core.errors import InvalidArgumentError, InvalidParamsError
from nacre.protocol.context import Context
from nacre.sdk.schema.signature import Names, Parameter, Signature, read_signature

Run = Callable[[Mapping[str, str], Context], Awaitable[Any]]
Function = Callable[..., Awaitable[Any]]


def text_signature(function: Function, names: Names) -> Signature:
    """Return the signature; a parameter that text cannot become raises TypeError."""
    signature = read_signature(function, names)
    for item in signature.parameters:
        if item.shape.schema.get("type") != "string":
            raise TypeError(
                f"{function.__qualname__}: parameter '{item.name}' must be str, a date, "
                "or a choice of strings: its values arrive as text"
            )
    return signature


def text_runner(function: Function, signature: Signature) -> Run:
    """Return a function that takes its arguments as text."""
    bind = signature.binder()
    parameters = {item.name: item for item in signature.parameters}

    async def run(arguments: Mapping[str, str], context: Context) -> Any:
        for name, value in arguments.items():
            item = parameters.get(name)
            if item is not None and not item.shape.accepts(value):
                raise InvalidParamsError(f"argument '{name}': expected {_wanted(item)}")
        try:
            bound = bind(arguments, context)
        except InvalidArgumentError as error:
            raise InvalidParamsError(str(error)) from error
        return await function(**bound)

    return run


def documentation(function: Function) -> str | None:
    """Return the function's docstring, None without one."""
    return inspect.cleandoc(function.__doc__ or "") or None


def _wanted(item: Parameter) -> str:
    schema = item.shape.schema
    if "enum" in schema:
        return f"one of {', '.join(map(repr, schema['enum'][:10]))}"
    return str(schema.get("format", "text"))
