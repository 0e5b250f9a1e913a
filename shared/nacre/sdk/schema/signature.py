"""From an async function's signature to an input schema and prepared arguments."""

import inspect
import typing
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any, get_args

from nacre.core.errors import InvalidArgumentError
from nacre.core.lazy_dataclasses import dataclass
from nacre.protocol.context import Context
from nacre.sdk.schema.record_types import with_default
from nacre.sdk.schema.shape import Shape
from nacre.sdk.schema.type_hints import Hints

Load = Callable[[Any], Any]
Names = Callable[[], Mapping[str, Any]]
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument: its shape, whether it is required, and whether it may be null."""

    name: str
    shape: Shape
    required: bool
    nullable: bool
    has_default: bool


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters of a function, and the one that takes the call's context."""

    parameters: tuple[Parameter, ...]
    context: str | None
    definitions: Mapping[str, dict[str, Any]]

    @property
    def schema(self) -> dict[str, Any]:
        """The input schema: an object with one property for each argument."""
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {item.name: item.shape.schema for item in self.parameters},
        }
        required = [item.name for item in self.parameters if item.required]
        if required:
            schema["required"] = required
        if self.definitions:
            schema["$defs"] = dict(self.definitions)
        return schema

    @property
    def nullable(self) -> frozenset[str]:
        """The arguments that may be null although their schema is the value's."""
        return frozenset(item.name for item in self.parameters if item.nullable)

    def binder(self) -> Callable[[Mapping[str, Any], Context], dict[str, Any]]:
        """Return a function that turns checked arguments into the function's keyword arguments."""
        # Everything is looked up here, so that a call costs no inspection.
        loads = tuple((item.name, item.shape.load, item.nullable) for item in self.parameters)
        fills = tuple(
            item.name for item in self.parameters if item.nullable and not item.has_default
        )
        context_name = self.context

        def bind(arguments: Mapping[str, Any], context: Context) -> dict[str, Any]:
            bound: dict[str, Any] = dict.fromkeys(fills)
            for name, load, may_be_null in loads:
                if name not in arguments:
                    continue
                value = arguments[name]
                if load is None or (may_be_null and value is None):
                    bound[name] = value
                    continue
                try:
                    bound[name] = load(value)
                except _MISFITS as error:
                    raise _misfit(name, error) from error
            if context_name is not None:
                bound[context_name] = context
            return bound

        return bind


def read_signature(function: Callable[..., Any], names: Names = dict) -> Signature:
    """Return the signature of an async function.

    `names` resolves hints that are text and that the function's module does not know.
    What cannot be a tool raises TypeError: a sync function, a method, `*args`.
    """
    label = getattr(function, "__qualname__", repr(function))
    if not inspect.isroutine(function) or not inspect.iscoroutinefunction(function):
        raise TypeError(f"{label} must be an async function")
    parameters = list(inspect.signature(function).parameters.values())
    if parameters and parameters[0].name in ("self", "cls"):
        raise TypeError(
            f"{label} is a method: decorate a function, or give Tool(...) a handler with state"
        )
    for parameter in parameters:
        _check_kind(label, parameter)
    resolved, scope = _resolved(function, label, names)
    hints = Hints(scope)
    context: str | None = None
    described = []
    for parameter in parameters:
        hint = resolved.get(parameter.name, Any)
        if _is_context(hint):
            context = parameter.name
            continue
        try:
            described.append(_parameter(parameter, hint, hints))
        except (TypeError, NameError) as error:
            raise TypeError(f"{label}: parameter '{parameter.name}': {error}") from error
    return Signature(tuple(described), context, hints.definitions.schemas)


def locals_of(frame: FrameType) -> Names:
    """Return where hints that are text find types that are local to a function."""
    return lambda: dict(frame.f_locals)


def _parameter(parameter: inspect.Parameter, hint: Any, hints: Hints) -> Parameter:
    shape, may_be_null = hints.parameter(hint)
    default = parameter.default
    has_default = default is not inspect.Parameter.empty
    if has_default:
        if type(default).__name__ in ("Field", "FieldInfo"):
            raise TypeError("write Annotated[type, Field(...)] and the default after '='")
        shape = with_default(shape, default)
    return Parameter(
        parameter.name, shape, not has_default and not may_be_null, may_be_null, has_default
    )


def _check_kind(label: str, parameter: inspect.Parameter) -> None:
    if parameter.kind not in _NAMED:
        raise TypeError(
            f"{label}: parameter '{parameter.name}' has no name to a caller; "
            "arguments come by name, so *args, **kwargs and '/' cannot be used"
        )


def _resolved(
    function: Callable[..., Any], label: str, names: Names
) -> tuple[dict[str, Any], Mapping[str, Any]]:
    function = inspect.unwrap(function)
    module_names = getattr(function, "__globals__", {})
    hints = {name: hint for name, hint in function.__annotations__.items() if name != "return"}
    holder = type(label, (), {"__annotations__": hints})
    try:
        return typing.get_type_hints(holder, module_names, {}, include_extras=True), {}
    except NameError:
        # Names that only a type checker imports, or that are local to a function.
        scope = {"Context": Context, **names()}
        scope = {name: value for name, value in scope.items() if name not in module_names}
    try:
        return typing.get_type_hints(holder, module_names, scope, include_extras=True), scope
    except NameError as error:
        raise TypeError(
            f"{label}: {error}; the types of a tool's parameters must be imported at run time"
        ) from error


def _is_context(hint: Any) -> bool:
    return hint is Context or Context in get_args(hint)


_MISFITS = (ValueError, TypeError, KeyError, AttributeError, OverflowError)


def _misfit(name: str, error: Exception) -> InvalidArgumentError:
    if isinstance(error, ValueError):
        return InvalidArgumentError(f"argument '{name}': {error}")
    return InvalidArgumentError(f"argument '{name}' is not of the right form")
