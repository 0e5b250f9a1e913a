"""From a type hint to its shape, in one walk."""

import sys
import typing
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from nacre.core.lazy_dataclasses import dataclass, field
from nacre.sdk.schema.field import annotate
from nacre.sdk.schema.pydantic_types import is_model, model_shape
from nacre.sdk.schema.record_types import (
    dataclass_shape,
    is_named_tuple,
    is_typed_dict,
    named_tuple_shape,
    typed_dict_shape,
)
from nacre.sdk.schema.shape import (
    ANYTHING,
    OBJECT,
    TEXT,
    Definitions,
    Shape,
    collection_shape,
    enum_shape,
    list_shape,
    literal_shape,
    mapping_shape,
    nullable,
    reference,
    scalar,
    tuple_shape,
    union_shape,
    uuid_shape,
)

_ARRAYS: dict[Any, Callable[[list[Any]], Any] | None] = {
    list: None,
    Sequence: None,
    Iterable: None,
    tuple: tuple,
    set: set,
    frozenset: frozenset,
    AbstractSet: frozenset,
}


@dataclass(slots=True)
class _Open:
    """A type whose shape is being made, so that its own fields can point to it."""

    name: str
    shape: Shape | None = None
    recursive: bool = False


@dataclass(slots=True)
class Hints:
    """The shapes of one tool's types; `names` resolves hints that are text."""

    names: Mapping[str, Any] = field(default_factory=dict)
    definitions: Definitions = field(default_factory=Definitions)
    _open: dict[Any, _Open] = field(default_factory=dict)
    _closed: dict[Any, Shape] = field(default_factory=dict)

    def parameter(self, hint: Any) -> tuple[Shape, bool]:
        """Return the shape of the value, and whether it may be null.

        The schema is that of the value: `int | None` is an integer that may be left out.
        """
        hint, notes = _unwrapped(hint)
        members = [member for member in _members(hint) if member not in (None, NoneType)]
        if not members or len(members) == len(_members(hint)):
            return self._noted(hint, notes), False
        return self._noted(Union[tuple(members)], notes), True  # noqa: UP007 - made at run time

    def of(self, hint: Any) -> Shape:
        """Return the shape of a hint."""
        hint, notes = _unwrapped(hint)
        return self._noted(hint, notes)

    def _noted(self, hint: Any, notes: Sequence[Any]) -> Shape:
        shape = self._bare(hint)
        if not notes:
            return shape
        return Shape(annotate(shape.schema, notes), shape.accepts, shape.load)

    def _bare(self, hint: Any) -> Shape:
        if hint in (Any, object):
            return ANYTHING
        if (shape := scalar(hint)) is not None:
            return shape
        origin = get_origin(hint)
        if origin is Annotated:
            return self.of(hint)
        if origin is Literal:
            return literal_shape(get_args(hint))
        if origin in (Union, UnionType):
            return union_shape([self.of(member) for member in get_args(hint)])
        if (shape := self._container(origin or hint, get_args(hint))) is not None:
            return shape
        return self._named(hint, origin)

    def _container(self, origin: Any, arguments: tuple[Any, ...]) -> Shape | None:
        if origin is tuple and arguments and arguments[-1] is not Ellipsis:
            items = () if arguments == ((),) else arguments
            return tuple_shape([self.of(item) for item in items])
        if origin in _ARRAYS:
            item = self.of(arguments[0]) if arguments else ANYTHING
            make = _ARRAYS[origin]
            if make is None:
                return list_shape(item)
            return collection_shape(item, make, unique=make is not tuple)
        if origin in (dict, Mapping, MutableMapping):
            if not arguments:
                return OBJECT
            key, value = (self.of(argument) for argument in arguments)
            if key is ANYTHING:
                key = TEXT
            if key.schema.get("type") != "string":
                raise TypeError("the keys of a JSON object are text: use dict[str, ...]")
            return mapping_shape(key, value)
        return None

    def _named(self, hint: Any, origin: Any) -> Shape:
        if isinstance(hint, TypeVar):
            return self.of(hint.__bound__) if hint.__bound__ else ANYTHING
        if (original := getattr(hint, "__supertype__", None)) is not None:  # NewType
            return self.of(original)
        if _is_alias(hint):
            return self._once(hint, lambda: self.of(hint.__value__))
        cls = hint if origin is None else origin
        if not isinstance(cls, type):
            return OBJECT
        if issubclass(cls, Enum) and len(cls):
            return enum_shape(cls)
        if (make := self._record(cls)) is not None:
            return self._once(cls, make)
        if is_model(cls):
            shape = self._closed.get(hint) or model_shape(hint, self.definitions)
            self._closed[hint] = shape
            return shape
        # A hint that names it has imported it; nobody else pays for the import.
        if "uuid" in sys.modules and cls is sys.modules["uuid"].UUID:
            return uuid_shape(cls)
        return OBJECT

    def _record(self, cls: Any) -> Callable[[], Shape] | None:
        if hasattr(cls, "__dataclass_fields__"):
            make = dataclass_shape
        elif is_typed_dict(cls):
            make = typed_dict_shape
        elif is_named_tuple(cls):
            make = named_tuple_shape
        else:
            return None
        return lambda: make(cls, self._hints_of(cls), self._field)

    def _field(self, hint: Any) -> tuple[Shape, bool]:
        shape, may_be_null = self.parameter(hint)
        return (nullable(shape) if may_be_null else shape), may_be_null

    def _hints_of(self, cls: Any) -> dict[str, Any]:
        names = {**self.names, cls.__name__: cls}
        try:
            return typing.get_type_hints(cls, include_extras=True)
        except NameError:
            return typing.get_type_hints(cls, localns=names, include_extras=True)

    def _once(self, hint: Any, make: Callable[[], Shape]) -> Shape:
        """Make a type's shape once; a recursive type points to a definition."""
        if (closed := self._closed.get(hint)) is not None:
            return closed
        if (ancestor := self._open.get(hint)) is not None:
            ancestor.recursive = True
            return Shape(
                reference(ancestor.name),
                lambda value: ancestor.shape is not None and ancestor.shape.accepts(value),
                lambda value: ancestor.shape.loaded(value) if ancestor.shape else value,
            )
        pending = self._open[hint] = _Open(self.definitions.name_for(hint.__name__))
        shape = pending.shape = make()
        del self._open[hint]
        if pending.recursive:
            self.definitions.schemas[pending.name] = shape.schema
            shape = Shape(reference(pending.name), shape.accepts, shape.load)
        self._closed[hint] = shape
        return shape


def _unwrapped(hint: Any) -> tuple[Any, list[Any]]:
    notes: list[Any] = []
    while get_origin(hint) is Annotated:
        hint, *more = get_args(hint)
        notes = [*more, *notes]
    return hint, notes


def _members(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _is_alias(hint: Any) -> bool:
    return type(hint).__name__ == "TypeAliasType"
