"""The values of an item: what every item store can hold, and how large it is."""

import math
from collections.abc import Mapping

from nacre.core.errors import InvalidInputError
from nacre.core.limits import (
    MAX_ITEM_BYTES,
    MAX_ITEM_DEPTH,
    MAX_PARTITION_KEY_BYTES,
    MAX_SORT_KEY_BYTES,
    MAX_WHOLE_NUMBER,
)
from nacre.ports.items.table import EXPIRES_AT, SCHEMA, Item, Key, Value

PARTITION_KEYS = frozenset({"pk", "gsi1pk", "gsi2pk", "gsi3pk"})
SORT_KEYS = frozenset({"sk", "gsi1sk", "gsi2sk", "gsi3sk"})


def normal_number(value: float) -> int | float:
    """Return the number as stores give it back."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInputError(f"{value} is not a number that can be stored")
        if value.is_integer() and abs(value) <= MAX_WHOLE_NUMBER:
            return int(value)
        if not 1e-128 <= abs(value) <= 1e125:
            raise InvalidInputError("a float's magnitude must lie between 1e-128 and 1e125")
        return value
    if abs(value) > MAX_WHOLE_NUMBER:
        raise InvalidInputError(
            "a whole number must lie within 2**53 - 1; store larger ones as text"
        )
    return value


def normal_value(value: object, depth: int = 1) -> Value:
    """Return a copy of the value as stores give it back; refuse what none can keep."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        check_text(value)
        return value
    if isinstance(value, int | float):
        return normal_number(value)
    if isinstance(value, bytes):
        return value
    if depth >= MAX_ITEM_DEPTH:
        raise InvalidInputError(f"values nest at most {MAX_ITEM_DEPTH} deep")
    if isinstance(value, list):
        return [normal_value(element, depth + 1) for element in value]
    if isinstance(value, dict):
        return {
            check_name(name): normal_value(element, depth + 1) for name, element in value.items()
        }
    raise InvalidInputError(f"a value of type {type(value).__name__} cannot be stored")


def normal_item(item: Item) -> Item:
    """Return a checked copy of a whole item."""
    result = normal_attributes(item)
    check_key(key_of(result))
    if SCHEMA not in result:
        raise InvalidInputError("an item needs 'schema', the version of its shape")
    check_size(result)
    return result


def normal_attributes(attributes: Mapping[str, Value]) -> Item:
    """Return a checked copy of some attributes of an item."""
    result = {check_name(name): normal_value(value) for name, value in attributes.items()}
    for name in result.keys() & (PARTITION_KEYS | SORT_KEYS):
        check_key_attribute(name, result[name])
    for name in result.keys() & {SCHEMA, EXPIRES_AT}:
        value = result[name]
        if isinstance(value, bool) or not isinstance(value, int) or (name == SCHEMA and value < 1):
            raise InvalidInputError(f"'{name}' must be a whole number")
    return result


def key_of(item: Item) -> Key:
    """Return where an item lives."""
    pk, sk = item.get("pk"), item.get("sk")
    if not isinstance(pk, str) or not isinstance(sk, str):
        raise InvalidInputError("an item needs 'pk' and 'sk', both text")
    return Key(pk, sk)


def check_key(key: Key) -> None:
    """Refuse a key that no store can hold."""
    check_key_attribute("pk", key.pk)
    check_key_attribute("sk", key.sk)


def check_key_attribute(name: str, value: object) -> None:
    """Refuse a value that cannot be this part of a key."""
    limit = MAX_PARTITION_KEY_BYTES if name in PARTITION_KEYS else MAX_SORT_KEY_BYTES
    if not isinstance(value, str):
        raise InvalidInputError(f"'{name}' must be text")
    if not value:
        raise InvalidInputError(f"'{name}' must not be empty")
    if len(check_text(value)) > limit:
        raise InvalidInputError(f"'{name}' is longer than {limit} bytes")


def check_name(name: object) -> str:
    """Return the name of an attribute; refuse one that no store can hold."""
    if not isinstance(name, str) or not name:
        raise InvalidInputError("the name of an attribute must be text that is not empty")
    check_text(name)
    return name


def check_text(text: str) -> bytes:
    """Return the text's UTF-8 bytes; refuse what has none."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError("text holds a lone surrogate, which is not Unicode") from error


# Sizes follow DynamoDB's published rules.
def size_of(value: Value) -> int:
    """Return how many bytes DynamoDB counts for a value."""
    if value is None or isinstance(value, bool):
        return 1
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode())
    if isinstance(value, bytes):
        return len(value)
    if isinstance(value, int | float):
        return len(repr(value)) // 2 + 2
    if isinstance(value, list):
        return 3 + sum(1 + size_of(element) for element in value)
    return 3 + sum(1 + size_of(name) + size_of(element) for name, element in value.items())


def item_size(item: Mapping[str, Value]) -> int:
    """Return how many bytes DynamoDB counts for an item."""
    return sum(size_of(name) + size_of(value) for name, value in item.items())


def check_size(item: Mapping[str, Value]) -> None:
    """Refuse an item that is too large."""
    if item_size(item) > MAX_ITEM_BYTES:
        raise InvalidInputError(f"an item is at most {MAX_ITEM_BYTES} bytes; store less in it")


def is_expired(item: Item, now: int) -> bool:
    """Tell whether the item counts as absent."""
    expires_at = item.get(EXPIRES_AT)
    return isinstance(expires_at, int) and expires_at <= now
