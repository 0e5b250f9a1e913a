"""Writes, their conditions and transactions, as every item store checks and applies them."""

from collections.abc import Sequence
from typing import assert_never

from nacre.adapters.items.values import (
    PARTITION_KEYS,
    SORT_KEYS,
    check_key,
    check_name,
    check_size,
    item_size,
    key_of,
    normal_attributes,
    normal_item,
    normal_number,
    normal_value,
    size_of,
)
from nacre.core.errors import ConditionFailedError, InvalidInputError
from nacre.core.limits import (
    MAX_TRANSACTION_BYTES,
    MAX_TRANSACTION_WRITES,
    TRANSACTION_TOKEN_SECONDS,
)
from nacre.ports.items.table import (
    EXPIRES_AT,
    SCHEMA,
    Absent,
    Change,
    Check,
    Compare,
    Condition,
    Delete,
    Either,
    Every,
    Item,
    Key,
    Present,
    Put,
    Update,
    Value,
    Write,
)

ORDERED = frozenset({"<", "<=", ">", ">="})
_NO_COUNTERS = PARTITION_KEYS | SORT_KEYS | {EXPIRES_AT, SCHEMA}


def normal_change(change: Change) -> Change:
    """Return a checked copy of a change."""
    names = [*change.set, *change.add, *change.remove]
    if not names:
        raise InvalidInputError("a change must set, add or remove something")
    if len(set(names)) < len(names):
        raise InvalidInputError("a change may name an attribute only once")
    if not {"pk", "sk"}.isdisjoint(names):
        raise InvalidInputError("'pk' and 'sk' cannot be changed; write another item")
    if SCHEMA in change.remove:
        raise InvalidInputError("'schema' cannot be removed")
    for name, amount in change.add.items():
        check_name(name)
        if name in _NO_COUNTERS:
            raise InvalidInputError(f"'{name}' is not a counter")
        if isinstance(amount, bool) or not isinstance(amount, int):
            raise InvalidInputError("only whole numbers can be added")
        normal_number(amount)
    result = Change(
        set=normal_attributes(change.set),
        add=dict(change.add),
        remove=frozenset(check_name(name) for name in change.remove),
    )
    check_size(result.set)
    return result


def needed(change: Change, when: Condition | None) -> Condition | None:
    """Return the condition of an update: only a change that sets `schema` may create an item."""
    if SCHEMA in change.set:
        return when
    return Present() if when is None else Every((Present(), when))


def changed(key: Key, item: Item | None, change: Change) -> Item:
    """Return the item after the change; refuse a sum or a size that cannot be stored."""
    result: Item = key.attributes() if item is None else dict(item)
    result.update(change.set)
    for name, amount in change.add.items():
        before = result.get(name, 0)
        if isinstance(before, bool) or not isinstance(before, int):
            raise InvalidInputError(f"'{name}' is not a counter: it does not hold a whole number")
        result[name] = normal_number(before + amount)
    for name in change.remove:
        result.pop(name, None)
    check_size(result)
    return result


def normal_write(write: Write) -> Write:
    """Return a checked copy of one write."""
    if write.when is not None:
        check_condition(write.when)
    match write:
        case Put(item, when):
            return Put(normal_item(item), when)
        case Update(key, change, when):
            check_key(key)
            change = normal_change(change)
            return Update(key, change, needed(change, when))
        case Delete(key, _) | Check(key, _):
            check_key(key)
            return write
        case _:
            assert_never(write)


def apply_writes(writes: Sequence[Write], items: Sequence[Item | None]) -> list[Item | None]:
    """Return the item after each write, from the stored items.

    Raises ConditionFailedError with the place of the first write whose condition does not hold.
    """
    for place, (write, item) in enumerate(zip(writes, items, strict=True)):
        if not holds(write.when, item):
            raise ConditionFailedError(place)
    return [_result(write, item) for write, item in zip(writes, items, strict=True)]


def _result(write: Write, item: Item | None) -> Item | None:
    match write:
        case Put(new, _):
            return new
        case Update(key, change, _):
            return changed(key, item, change)
        case Delete() | Check():
            return None
        case _:
            assert_never(write)


def write_key(write: Write) -> Key:
    """Return the key of the item that a write is about."""
    return key_of(write.item) if isinstance(write, Put) else write.key


def checked_transaction(writes: Sequence[Write], *, token: str | None, now: int) -> list[Write]:
    """Return the checked writes, after the write that records the token."""
    result = [normal_write(write) for write in writes]
    if not result:
        raise InvalidInputError("a transaction needs at least one write")
    if token is not None:
        result.insert(0, _token_mark(token, now=now))
    if len(result) > MAX_TRANSACTION_WRITES:
        raise InvalidInputError(
            f"a transaction has at most {MAX_TRANSACTION_WRITES} writes, its token included"
        )
    if len({write_key(write) for write in result}) < len(result):
        raise InvalidInputError("a transaction may name an item only once")
    if sum(map(_write_size, result)) > MAX_TRANSACTION_BYTES:
        raise InvalidInputError(f"a transaction is at most {MAX_TRANSACTION_BYTES} bytes")
    return result


def _token_mark(token: str, *, now: int) -> Put:
    if not token:
        raise InvalidInputError("a transaction's token must not be empty")
    expires_at = now + TRANSACTION_TOKEN_SECONDS
    item: Item = {"pk": f"I#{token}", "sk": "I", SCHEMA: 1, EXPIRES_AT: expires_at}
    return Put(normal_item(item), Absent())


def _write_size(write: Write) -> int:
    match write:
        case Put(item, _):
            return item_size(item)
        case Update(key, change, _):
            return item_size(change.set) + size_of(key.pk) + size_of(key.sk)
        case Delete(key, _) | Check(key, _):
            return size_of(key.pk) + size_of(key.sk)
        case _:
            assert_never(write)


def check_condition(condition: Condition) -> None:
    """Raise InvalidInputError for a condition that a store cannot check."""
    match condition:
        case Absent(attribute) | Present(attribute):
            if attribute is not None:
                check_name(attribute)
        case Compare(attribute, relation, value):
            check_name(attribute)
            if not isinstance(value, str | bytes | int | float | None):
                raise InvalidInputError(
                    "only text, bytes, numbers, booleans and None can be compared"
                )
            normal_value(value)
            if relation in ORDERED and kind_of(value) not in ("S", "N"):
                raise InvalidInputError("only text and numbers have an order")
        case Every(conditions) | Either(conditions):
            for part in conditions:
                check_condition(part)
        case _:
            assert_never(condition)


def holds(condition: Condition | None, item: Item | None) -> bool:
    """Tell whether an item, or its absence, meets a condition."""
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
            return all(holds(part, item) for part in conditions)
        case Either(conditions):
            return any(holds(part, item) for part in conditions)
        case _:
            assert_never(condition)


def _compares(compare: Compare, item: Item) -> bool:
    if compare.attribute not in item:
        return False
    stored, expected = item[compare.attribute], compare.value
    same_kind = kind_of(stored) == kind_of(expected)
    if compare.relation == "=":
        return same_kind and stored == expected
    if compare.relation == "<>":
        return not (same_kind and stored == expected)
    if not same_kind:
        return False
    order = _order(stored, expected)
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


def _order(stored: Value, expected: Value) -> int:
    if isinstance(stored, str) and isinstance(expected, str):
        return (stored > expected) - (stored < expected)  # code points sort as their UTF-8 bytes do
    if isinstance(stored, int | float) and isinstance(expected, int | float):
        return (stored > expected) - (stored < expected)
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
