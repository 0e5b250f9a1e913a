"""What a condition says about an item, in every item store."""

from typing import assert_never

from nacre.adapters.items.values import check_name, normal_value
from nacre.core.errors import InvalidInputError
from nacre.ports.items.table import Absent, Compare, Condition, Either, Every, Item, Present, Value

ORDERED = frozenset({"<", "<=", ">", ">="})


def check_condition(condition: Condition) -> None:
    """Refuse a condition that no store can ask."""
    match condition:
        case Absent(attribute) | Present(attribute):
            if attribute is not None:
                check_name(attribute)
        case Compare(attribute, relation, value):
            check_name(attribute)
            if not isinstance(value, str | bytes | int | float | None):
                raise InvalidInputError("only text, bytes, numbers, booleans and None compare")
            normal_value(value)
            if relation in ORDERED and kind_of(value) not in ("S", "N"):
                raise InvalidInputError("only text and numbers have an order")
        case Every(conditions) | Either(conditions):
            for each in conditions:
                check_condition(each)
        case _:
            assert_never(condition)


def holds(condition: Condition | None, item: Item | None) -> bool:
    """Evaluate a condition on an item, or on its absence."""
    match condition:
        case None:
            return True
        case Absent(attribute):
            return item is None or (attribute is not None and attribute not in item)
        case Present(attribute):
            return item is not None and (attribute is None or attribute in item)
        case Compare():
            return item is not None and _compares(condition, item)
        case Every(conditions):
            return all(holds(each, item) for each in conditions)
        case Either(conditions):
            return any(holds(each, item) for each in conditions)
        case _:
            assert_never(condition)


def _compares(compare: Compare, item: Item) -> bool:
    if compare.attribute not in item:
        return False
    left, right = item[compare.attribute], compare.value
    same_kind = kind_of(left) == kind_of(right)
    if compare.relation == "=":
        return same_kind and left == right
    if compare.relation == "<>":
        return not (same_kind and left == right)
    if not same_kind:
        return False
    order = _order(left, right)
    match compare.relation:
        case "<":
            return order < 0
        case "<=":
            return order <= 0
        case ">":
            return order > 0
        case ">=":
            return order >= 0
        case _:
            assert_never(compare.relation)


def _order(left: Value, right: Value) -> int:
    if isinstance(left, str) and isinstance(right, str):
        return (left > right) - (left < right)  # code points sort as their UTF-8 bytes do
    if isinstance(left, int | float) and isinstance(right, int | float):
        return (left > right) - (left < right)
    raise InvalidInputError("only text and numbers have an order")


def kind_of(value: Value) -> str:
    """Return the kind of a value, in DynamoDB's words."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "BOOL"
        case str():
            return "S"
        case int() | float():
            return "N"
        case bytes():
            return "B"
        case list():
            return "L"
        case _:
            return "M"
