"""What writes and transactions do to items, in every item store."""

from collections.abc import Callable, Sequence
from typing import assert_never

from nacre.adapters.items.conditions import check_condition
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
    Condition,
    Delete,
    Every,
    Item,
    Key,
    Present,
    Put,
    Update,
    Write,
)

_NO_COUNTERS = PARTITION_KEYS | SORT_KEYS | {EXPIRES_AT, SCHEMA}


def normal_change(change: Change) -> Change:
    """Return a checked copy of a change."""
    names = [*change.set, *change.add, *change.remove]
    if not names:
        raise InvalidInputError("a change must set, add or remove something")
    if len(set(names)) < len(names):
        raise InvalidInputError("a change names an attribute once")
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
    """Return what an update requires: only a change that sets `schema` may create."""
    if SCHEMA in change.set:
        return when
    return Present() if when is None else Every((Present(), when))


def changed(key: Key, item: Item | None, change: Change) -> Item:
    """Return the item after the change; refuse a sum or a size that cannot be stored."""
    result: Item = {"pk": key.pk, "sk": key.sk} if item is None else dict(item)
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


def write_key(write: Write) -> Key:
    """Return the key of the item that a write is about."""
    return key_of(write.item) if isinstance(write, Put) else write.key


def apply_once(
    writes: Sequence[Write],
    apply: Callable[[Sequence[Write]], object],
    *,
    token: str | None,
    now: int,
) -> None:
    """Check a transaction and apply it, unless one with its token was applied before.

    `apply` gets the checked writes and raises ConditionFailedError with the place of the one
    that failed; the caller sees the places as they were in `writes`.
    """
    checked = _normal_writes(writes, token=token, now=now)
    try:
        apply(checked)
    except ConditionFailedError as error:
        if token is None:
            raise
        if error.place > 0:
            raise ConditionFailedError(error.place - 1) from error
        # The token's own mark was there: the transaction was applied before.


def _normal_writes(writes: Sequence[Write], *, token: str | None, now: int) -> list[Write]:
    # With the mark of the token in front.
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
        raise InvalidInputError("a transaction names an item once")
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
