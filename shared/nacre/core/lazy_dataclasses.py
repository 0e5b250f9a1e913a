"""Dataclasses whose methods are generated when they are first called.

The standard decorator compiles up to six functions for each class as soon as it is defined,
which was a third of a server's start. The functions here take the options that this package
uses. Those of the standard module accept these classes too, and these accept standard classes.
A field that `fields` returns has a `name`, a `default` and `metadata`, but no `type`.
"""

from collections.abc import Callable, Iterable, Mapping

TYPE_CHECKING = False

if TYPE_CHECKING:
    from dataclasses import asdict, dataclass, field, fields, replace
    from typing import Any

__all__ = ["asdict", "dataclass", "field", "fields", "replace"]

_MISSING: "Any" = object()
_NOTHING: "Mapping[Any, Any]" = {}
_FIELDS = "__lazy_dataclass_fields__"


class _Field:
    """One field: its default, and the methods that it takes part in."""

    __slots__ = ("compare", "default", "factory", "init", "kw_only", "metadata", "name", "repr")

    def __init__(
        self,
        *,
        default: "Any" = _MISSING,
        default_factory: "Any" = _MISSING,
        init: bool = True,
        repr: bool = True,
        compare: bool = True,
        metadata: "Mapping[Any, Any]" = _NOTHING,
    ) -> None:
        self.default = default
        self.factory = default_factory
        self.init = init
        self.repr = repr
        self.compare = compare
        self.metadata = metadata
        self.kw_only = False
        self.name = ""


class _StandardAttribute:
    """An attribute of a standard dataclass, made when it is first read."""

    def __init__(self, cls: type, name: str, *, frozen: bool) -> None:
        self._cls = cls
        self._name = name
        self._frozen = frozen

    def __get__(self, instance: object, owner: type) -> "Any":
        import dataclasses  # noqa: PLC0415 - with `inspect`, a tenth of a server's start

        annotations: dict[str, Any] = {}
        for parent in reversed(self._cls.__mro__):
            annotations |= _annotations(parent)
        standard_fields = []
        for name, own in getattr(self._cls, _FIELDS).items():
            options = {"init": own.init, "repr": own.repr, "compare": own.compare}
            if own.default is not _MISSING:
                options["default"] = own.default
            if own.factory is not _MISSING:
                options["default_factory"] = own.factory
            standard = dataclasses.field(**options, metadata=own.metadata, kw_only=own.kw_only)
            standard_fields.append((name, annotations[name], standard))
        twin = dataclasses.make_dataclass("_Twin", standard_fields, frozen=self._frozen)
        attribute = getattr(twin, self._name)
        setattr(self._cls, self._name, attribute)
        return attribute


def _dataclass(
    cls: "Any" = None,
    /,
    *,
    frozen: bool = False,
    slots: bool = False,
    kw_only: bool = False,
    eq: bool = True,
) -> "Any":
    if cls is None:
        return lambda decorated: _dataclass(
            decorated, frozen=frozen, slots=slots, kw_only=kw_only, eq=eq
        )
    own = _take_fields(cls, keep_defaults=not slots, kw_only=kw_only)
    fields = {**getattr(cls, _FIELDS, {}), **own}
    if slots:
        cls = _with_slots(cls, own)
    setattr(cls, _FIELDS, fields)
    positional = tuple(name for name, own in fields.items() if own.init and not own.kw_only)
    type.__setattr__(cls, "__match_args__", positional)
    for name in ("__dataclass_fields__", "__dataclass_params__"):
        setattr(cls, name, _StandardAttribute(cls, name, frozen=frozen))

    members = cls.__dict__
    if "__init__" not in members:
        _generate_later(cls, "__init__", lambda: _init(cls, fields, frozen=frozen))
    if "__repr__" not in members:
        cls.__repr__ = _repr
    if eq:
        _compare_by(cls, fields, frozen=frozen)
    if frozen:
        cls.__setattr__ = _refuse_to_set
        cls.__delattr__ = _refuse_to_delete
        if slots:
            cls.__setstate__ = _set_state
    return cls


def _take_fields(cls: type, *, keep_defaults: bool, kw_only: bool) -> dict[str, _Field]:
    """Return the fields that the class itself declares, and leave only plain defaults in it."""
    fields = {}
    for name in _annotations(cls):
        default = cls.__dict__.get(name, _MISSING)
        fields[name] = own = default if isinstance(default, _Field) else _Field(default=default)
        own.kw_only = kw_only
        own.name = name
        if default is not _MISSING:
            if keep_defaults and own.default is not _MISSING:
                setattr(cls, name, own.default)
            else:
                delattr(cls, name)
    return fields


def _annotations(cls: type) -> "Mapping[str, Any]":
    annotations: Mapping[str, Any] = vars(cls).get("__annotations__", {})
    return annotations


def _compare_by(cls: "Any", fields: Mapping[str, _Field], *, frozen: bool) -> None:
    """Give the class `__eq__` and `__hash__`; an instance that can change has no hash."""
    members = cls.__dict__
    has_hash = members.get("__hash__") is not None
    if "__eq__" not in members:
        _generate_later(cls, "__eq__", lambda: _eq(fields))
    if not has_hash and frozen:
        _generate_later(cls, "__hash__", lambda: _hash(fields))
    elif not has_hash:
        cls.__hash__ = None


def _with_slots(cls: type, names: Iterable[str]) -> type:
    members = dict(cls.__dict__)
    inherited = {slot for base in cls.__mro__[1:] for slot in base.__dict__.get("__slots__", ())}
    members["__slots__"] = tuple(name for name in names if name not in inherited)
    for name in ("__dict__", "__weakref__"):
        members.pop(name, None)
    slotted = type(cls)(cls.__name__, cls.__bases__, members)
    slotted.__qualname__ = cls.__qualname__
    return slotted


def _generate_later(cls: type, name: str, generate: "Callable[[], Callable[..., Any]]") -> None:
    """Give the class a method that puts the generated one in its place when it is called."""

    def first_call(*args: "Any", **kwargs: "Any") -> "Any":
        method = generate()
        setattr(cls, name, method)
        return method(*args, **kwargs)

    first_call.__name__ = name
    first_call.__qualname__ = f"{cls.__qualname__}.{name}"
    setattr(cls, name, first_call)


def _init(cls: type, fields: Mapping[str, _Field], *, frozen: bool) -> "Callable[..., Any]":
    values: dict[str, Any] = {"_set": object.__setattr__, "_missing": _MISSING}
    parameters: dict[bool, list[str]] = {False: ["self"], True: []}
    body = []
    for name, own in fields.items():
        value = name
        parameter = name
        if own.factory is not _MISSING:
            values[f"_make_{name}"] = own.factory
            parameter = f"{name}=_missing"
            value = f"_make_{name}()"
            if own.init:
                value = f"{value} if {name} is _missing else {name}"
        elif own.default is not _MISSING:
            values[f"_default_{name}"] = own.default
            parameter = f"{name}=_default_{name}"
            value = name if own.init else f"_default_{name}"
        elif not own.init:
            continue
        if own.init:
            parameters[own.kw_only].append(parameter)
        body.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    keywords = ["*", *parameters[True]] if parameters[True] else []
    return _compiled("__init__", [*parameters[False], *keywords], body or ["pass"], values)


def _eq(fields: Mapping[str, _Field]) -> "Callable[..., Any]":
    compared = [name for name, own in fields.items() if own.compare]
    mine, others = ("".join(f"{one}.{name}, " for name in compared) for one in ("self", "other"))
    body = [
        "if other.__class__ is not self.__class__: return NotImplemented",
        f"return ({mine}) == ({others})",
    ]
    return _compiled("__eq__", ["self", "other"], body, {})


def _hash(fields: Mapping[str, _Field]) -> "Callable[..., Any]":
    values = "".join(f"self.{name}, " for name, own in fields.items() if own.compare)
    return _compiled("__hash__", ["self"], [f"return hash(({values}))"], {})


def _compiled(
    name: str, parameters: list[str], body: list[str], values: "dict[str, Any]"
) -> "Callable[..., Any]":
    lines = "".join(f"    {line}\n" for line in body)
    namespace: dict[str, Any] = dict(values)
    exec(f"def {name}({', '.join(parameters)}):\n{lines}", namespace)  # noqa: S102 - names of fields
    method: Callable[..., Any] = namespace[name]
    return method


def _repr(self: "Any") -> str:
    values = (f"{name}={getattr(self, name)!r}" for name, own in _own(self) if own.repr)
    return f"{type(self).__qualname__}({', '.join(values)})"


def _refuse_to_set(self: object, name: str, value: object) -> None:
    from dataclasses import FrozenInstanceError  # noqa: PLC0415 - see _StandardAttribute

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: object, name: str) -> None:
    from dataclasses import FrozenInstanceError  # noqa: PLC0415 - see _StandardAttribute

    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _set_state(self: object, state: "tuple[None, dict[str, Any]]") -> None:
    for name, value in state[1].items():
        object.__setattr__(self, name, value)


def _replace(instance: "Any", /, **changes: "Any") -> "Any":
    if not hasattr(type(instance), _FIELDS):
        import dataclasses  # noqa: PLC0415 - already loaded if such a class exists

        return dataclasses.replace(instance, **changes)
    for name, own in _own(instance):
        if own.init and name not in changes:
            changes[name] = getattr(instance, name)
    return type(instance)(**changes)


def _asdict(instance: "Any") -> "dict[str, Any]":
    if not hasattr(type(instance), _FIELDS):
        import dataclasses  # noqa: PLC0415 - already loaded if such a class exists

        return dataclasses.asdict(instance)
    return {name: _plain(getattr(instance, name)) for name, _ in _own(instance)}


def _plain(value: "Any") -> "Any":
    if hasattr(type(value), _FIELDS):
        return _asdict(value)
    if isinstance(value, list | tuple):
        return type(value)(map(_plain, value))
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _fields(cls_or_instance: "Any") -> "Any":
    if not hasattr(cls_or_instance, _FIELDS):
        import dataclasses  # noqa: PLC0415 - already loaded if such a class exists

        return dataclasses.fields(cls_or_instance)
    return tuple(getattr(cls_or_instance, _FIELDS).values())


def _own(instance: object) -> "Any":
    return getattr(type(instance), _FIELDS).items()


if not TYPE_CHECKING:
    asdict, dataclass, field, fields, replace = _asdict, _dataclass, _Field, _fields, _replace
