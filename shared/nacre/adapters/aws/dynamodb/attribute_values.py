"""Items as DynamoDB writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nacre.core.limits import MAX_WHOLE_NUMBER

if TYPE_CHECKING:  # the authorizer decodes too, and would load dataclasses for two names
    from nacre.ports.items.table import Item, Value

Attribute = dict[str, Any]


def encode_item(item: Mapping[str, Value]) -> dict[str, Attribute]:
    """Return the item in DynamoDB's form."""
    return {name: encode(value) for name, value in item.items()}


def decode_item(attributes: Mapping[str, Attribute]) -> Item:
    """Return the item that DynamoDB gave."""
    return {name: decode(attribute) for name, attribute in attributes.items()}


def encode(value: Value) -> Attribute:
    """Return one value in DynamoDB's form."""
    match value:
        case None:
            return {"NULL": True}
        case bool():
            return {"BOOL": value}
        case str():
            return {"S": value}
        case int() | float():
            return {"N": repr(value)}
        case bytes():
            return {"B": value}
        case list():
            return {"L": [encode(element) for element in value]}
        case _:
            return {"M": encode_item(value)}


def decode(attribute: Attribute) -> Value:
    """Return one value that DynamoDB gave."""
    [(kind, value)] = attribute.items()
    match kind:
        case "NULL":
            return None
        case "N":
            return _number(value)
        case "B":
            return bytes(value)
        case "L":
            return [decode(element) for element in value]
        case "M":
            return decode_item(value)
        case _:
            return value  # type: ignore[no-any-return]  # text or a boolean


def _number(text: str) -> int | float:
    if text.lstrip("-").isdigit():
        integer = int(text)
        return integer if abs(integer) <= MAX_WHOLE_NUMBER else float(text)
    number = float(text)
    if number.is_integer() and abs(number) <= MAX_WHOLE_NUMBER:
        return int(number)
    return number
