"""Shapes of types with named fields: dataclasses, TypedDicts, named tuples."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NotRequired, Required, get_args, get_origin

from nacre.core.errors import InvalidInputError
from nacre.core.lazy_dataclasses import dataclass
from nacre.sdk.schema.encode import encode
from nacre.sdk.schema.shape import MisfitError, Shape

# The shape of a field's hint, and whether it may be null.
FieldShape = Callable[[Any], tuple[Shape, bool]]


@dataclass(frozen=True, slots=True)
class RecordField:
    """One field: its shape, whether it is required, and whether null fills it."""

    name: str
    shape: Shape
    required: bool
    # True if an absent field becomes null, because its type has no default.
    fill: bool = False


def is_typed_dict(hint: Any) -> bool:
    """Tell whether the hint is a TypedDict, of typing or typing_extensions."""
    return isinstance(hint, type) and issubclass(hint, dict) and hasattr(hint, "__required_keys__")


def is_named_tuple(hint: Any) -> bool:
    """Tell whether the hint is a NamedTuple with types."""
    return isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_field_defaults")


def dataclass_shape(cls: type, hints: Mapping[str, Any], of: FieldShape) -> Shape:
    """Return the shape of a dataclass: an object that its constructor takes."""
    import dataclasses  # noqa: PLC0415 - already loaded if such a class exists

    fields = []
    for item in dataclasses.fields(cls):
        if not item.init:
            continue
        has_default = (
            item.default is not dataclasses.MISSING
            or item.default_factory is not dataclasses.MISSING
        )
        shape, may_be_null = of(hints[item.name])
        if item.default is not dataclasses.MISSING:
            shape = with_default(shape, item.default)
        required = not has_default and not may_be_null
        fields.append(RecordField(item.name, shape, required, fill=may_be_null and not has_default))
    doc = cls.__doc__
    # A dataclass without a docstring gets its signature for one.
    doc = None if doc is None or doc.startswith(f"{cls.__name__}(") else doc
    return record_shape(fields, doc, lambda values: cls(**values))


def named_tuple_shape(cls: Any, hints: Mapping[str, Any], of: FieldShape) -> Shape:
    """Return the shape of a named tuple: an object with its fields."""
    fields = []
    for name in cls._fields:
        shape, may_be_null = of(hints.get(name, Any))
        if name in cls._field_defaults:
            shape = with_default(shape, cls._field_defaults[name])
            fields.append(RecordField(name, shape, required=False))
        else:
            fields.append(RecordField(name, shape, required=not may_be_null, fill=may_be_null))
    return record_shape(fields, None, lambda values: cls(**values))


def typed_dict_shape(cls: Any, hints: Mapping[str, Any], of: FieldShape) -> Shape:
    """Return the shape of a TypedDict: an object that stays a dict."""
    fields = []
    for name, wrapped in hints.items():
        hint, required = _requirement(wrapped, required=name in cls.__required_keys__)
        shape, may_be_null = of(hint)
        fields.append(
            RecordField(name, shape, required and not may_be_null, fill=required and may_be_null)
        )
    return record_shape(fields, cls.__doc__, None)


def record_shape(
    fields: Sequence[RecordField],
    doc: str | None,
    make: Callable[[dict[str, Any]], Any] | None,
) -> Shape:
    """Return the shape of an object with these fields, made into a value by `make`."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {item.name: item.shape.schema for item in fields},
    }
    required = [item.name for item in fields if item.required]
    if required:
        schema["required"] = required
    if doc is not None:
        schema["description"] = doc.strip()

    def accepts(value: Any) -> bool:
        return isinstance(value, dict) and all(
            item.shape.accepts(value[item.name]) if item.name in value else not item.required
            for item in fields
        )

    def load(value: Any) -> Any:
        if not isinstance(value, dict):
            raise MisfitError("expected an object")
        values = {}
        for item in fields:
            if item.name in value:
                values[item.name] = item.shape.loaded(value[item.name])
            elif item.required:
                raise MisfitError(f"'{item.name}' is missing")
            elif item.fill:
                values[item.name] = None
        return values if make is None else make(values)

    return Shape(schema, accepts, load)


def with_default(shape: Shape, default: Any) -> Shape:
    """Return the shape with the default in its schema, if the default has a JSON form."""
    if default is None:
        return shape
    try:
        schema = {**shape.schema, "default": encode(default)}
    except InvalidInputError:
        return shape
    return Shape(schema, shape.accepts, shape.load)


def _requirement(hint: Any, *, required: bool) -> tuple[Any, bool]:
    while (origin := get_origin(hint)) in (Required, NotRequired):
        required = origin is Required
        (hint,) = get_args(hint)
    return hint, required
