"""Lazy dataclasses beside the standard library's: the same classes, made by both decorators."""

import copy
import dataclasses
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nacre.core import lazy_dataclasses
from nacre.core.lazy_dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Point:
    """A frozen class with slots, which most classes of the package are."""

    x: int
    y: int = 0
    tags: tuple[str, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled(Point):
    """A subclass whose own fields are given by name."""

    label: str
    notes: list[str] = field(default_factory=list, metadata={"added": True})

    def __post_init__(self) -> None:
        if not self.label:
            raise ValueError("a label is needed")


@dataclass(slots=True)
class Counter:
    """A class that changes."""

    count: int = 0
    seen: dict[str, int] = field(default_factory=dict)
    total: int = field(init=False, default=5)
    unset: int = field(init=False)


Family = dict[str, Any]


def _family(made_by: Any) -> Family:
    """Return the same classes, made by one of the two modules."""

    @made_by.dataclass(frozen=True, slots=True)
    class Frozen:
        first: int
        second: str = "b"
        third: list[int] = made_by.field(default_factory=list, compare=False)

    @made_by.dataclass(frozen=True, slots=True, kw_only=True)
    class Named(Frozen):
        fourth: float = made_by.field(default=1.5, repr=False)

    @made_by.dataclass(slots=True)
    class Open:
        first: int = 1
        second: Any = made_by.field(default=None, init=False)

        def __post_init__(self) -> None:
            self.second = self.first + 1

    @made_by.dataclass(eq=False)
    class Plain:
        first: int
        second: str = "b"

    return {each.__name__: each for each in (Frozen, Named, Open, Plain)}


STANDARD, LAZY = _family(dataclasses), _family(lazy_dataclasses)


def _same(use: Callable[[Family], Any]) -> None:
    """Use both families and compare what comes of it, errors included."""
    outcomes = []
    for family in (STANDARD, LAZY):
        try:
            outcomes.append(repr(use(family)).replace("_family.<locals>.", ""))
        except (TypeError, AttributeError) as error:
            outcomes.append(f"{type(error).__name__}")
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize(
    "use",
    [
        lambda family: family["Frozen"](1),
        lambda family: family["Frozen"](1, "x", [2]),
        lambda family: family["Frozen"](second="x", first=1),
        lambda family: family["Frozen"](),
        lambda family: family["Frozen"](1, unknown=2),
        lambda family: family["Frozen"](1, "x", [2], 3),
        lambda family: family["Frozen"](1).third is family["Frozen"](1).third,
        lambda family: family["Frozen"](1, third=[1]) == family["Frozen"](1, third=[2]),
        lambda family: family["Frozen"](1) == family["Frozen"](2),
        lambda family: family["Frozen"](1) == (1, "b"),
        lambda family: family["Frozen"](1) == family["Named"](1),
        lambda family: hash(family["Frozen"](1)) == hash((1, "b")),
        lambda family: setattr(family["Frozen"](1), "first", 2),
        lambda family: delattr(family["Frozen"](1), "first"),
        lambda family: family["Frozen"](1).__dict__,
        lambda family: family["Frozen"].__slots__,
        lambda family: family["Frozen"].__match_args__,
        lambda family: family["Named"].__slots__,
        lambda family: family["Named"].__match_args__,
        lambda family: family["Named"](1, fourth=2.0).fourth,
        lambda family: family["Named"](1, "b", [], 2.0),
        lambda family: family["Named"](1),
        lambda family: hash(family["Named"](1)) == hash((1, "b", 1.5)),
        lambda family: family["Open"](4),
        lambda family: family["Open"](4, 5),
        lambda family: family["Open"]() == family["Open"](1),
        lambda family: hash(family["Open"]()),
        lambda family: family["Plain"](1) == family["Plain"](1),
        lambda family: family["Plain"].second,
        lambda family: family["Plain"](1).__dict__,
        lambda family: dataclasses.asdict(family["Named"](1, third=[3])),
        lambda family: dataclasses.replace(family["Named"](1), fourth=3.0).fourth,
        lambda family: [(each.name, each.type) for each in dataclasses.fields(family["Named"])],
        lambda family: [each.default for each in dataclasses.fields(family["Frozen"])][:2],
        lambda family: dataclasses.is_dataclass(family["Plain"]),
    ],
)
def test_a_class_is_as_the_standard_decorator_makes_it(use: Callable[[Family], Any]) -> None:
    _same(use)


def test_a_standard_dataclass_may_extend_a_lazy_one() -> None:
    @dataclasses.dataclass(frozen=True)
    class Extended(Point):
        z: int = 3

    assert Extended(1, 2) == Extended(1, 2, z=3)
    assert repr(Extended(1)).endswith("Extended(x=1, y=0, z=3)")


def test_a_copy_is_equal_and_stays_frozen() -> None:
    labelled = Labelled(1, 2, label="a", notes=["b"])

    for duplicate in (
        copy.copy(labelled),
        copy.deepcopy(labelled),
        pickle.loads(pickle.dumps(labelled)),
    ):
        assert duplicate == labelled
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
            duplicate.x = 3  # type: ignore[misc]


def test_replace_checks_the_new_instance_too() -> None:
    labelled = Labelled(1, label="a")

    assert replace(labelled, x=2) == Labelled(2, label="a")
    with pytest.raises(ValueError, match="a label is needed"):
        replace(labelled, label="")


def test_asdict_reaches_instances_in_lists_and_mappings() -> None:
    counter = Counter(seen={"a": 1})
    counter.unset = 2
    held = lazy_dataclasses.asdict(
        Labelled(1, label="a", notes=[counter, (Point(1),), {"p": Point(2)}])  # type: ignore[list-item]
    )

    assert held["notes"] == [
        {"count": 0, "seen": {"a": 1}, "total": 5, "unset": 2},
        ({"x": 1, "y": 0, "tags": ()},),
        {"p": {"x": 2, "y": 0, "tags": ()}},
    ]


def test_a_field_that_the_constructor_leaves_out_is_unset() -> None:
    with pytest.raises(AttributeError):
        _ = Counter().unset


def test_an_instance_of_a_standard_dataclass_is_replaced_and_converted_too() -> None:
    standard = STANDARD["Frozen"](1, third=[2])

    assert replace(standard, first=3) == STANDARD["Frozen"](3)
    assert lazy_dataclasses.asdict(standard) == {"first": 1, "second": "b", "third": [2]}


def test_metadata_is_where_dataclasses_has_it() -> None:
    expected = {"x": {}, "y": {}, "tags": {}, "label": {}, "notes": {"added": True}}

    for fields in (dataclasses.fields, lazy_dataclasses.fields):
        assert {each.name: dict(each.metadata) for each in fields(Labelled)} == expected


def test_a_class_is_matched_by_its_fields() -> None:
    match Point(1, 2):
        case Point(x, y):
            assert (x, y) == (1, 2)


def test_a_method_is_generated_once() -> None:
    @dataclass(frozen=True, slots=True)
    class Fresh:
        value: int

    before = Fresh.__init__
    Fresh(1)
    generated = Fresh.__init__
    Fresh(2)

    assert before is not generated
    assert Fresh.__init__ is generated


def test_defining_and_using_a_class_needs_neither_dataclasses_nor_inspect() -> None:
    code = """
import sys
from nacre.core.lazy_dataclasses import dataclass, field, replace

@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: list = field(default_factory=list)

assert replace(Point(1), x=2) == Point(2), repr(Point(1))
print({"dataclasses", "inspect", "typing"} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert done.stdout == "set()\n"


def test_the_package_defines_no_dataclass_in_another_way() -> None:
    package = Path(lazy_dataclasses.__file__).parents[1]
    eager = re.compile(
        r"^\s*from dataclasses import .*\b(asdict|dataclass|field|replace)\b", re.MULTILINE
    )
    modules = [path for path in package.rglob("*.py") if path.stem != "lazy_dataclasses"]

    assert len(modules) > 500
    assert [path for path in modules if eager.search(path.read_text(encoding="utf-8"))] == []
