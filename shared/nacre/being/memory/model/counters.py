"""The counters of a Being, in the item that also has its name.

A transaction may name an item only once, so all counts of a transaction go into one write.
That write also checks that the Being exists.
"""

from collections.abc import Mapping, Sequence

from nacre.being.memory.model import keys
from nacre.core.errors import ConditionFailedError, InvalidInputError, NotFoundError
from nacre.core.lazy_dataclasses import dataclass
from nacre.ports.items.table import (
    Absent,
    Change,
    Check,
    Compare,
    Condition,
    Either,
    Every,
    Item,
    Present,
    Table,
    Update,
    Value,
    Write,
)

PENDING_SCENES = "pending_scenes"
PENDING_MESSAGES = "pending_messages"  # that no patrol has read yet
QUEUED_AT = "queued_at"
REPAIR_QUEUED_AT = "repair_queued_at"
WORK_SEQ = "work_seq"  # raised with each announcement of work, so that no patrol overlooks one
UNREAD = "unread"
CLOCK = "clock"  # active days
KEEPS_QUESTIONS = "keeps_questions"  # whether recalls and searches are kept for evaluations
KEPT_QUESTIONS = "kept_questions"


@dataclass(frozen=True, slots=True)
class Cap:
    """The limit for the number of some records, and their name in the error."""

    most: int
    noun: str


def _counting(
    being_id: str,
    *,
    add: Mapping[str, int] | None = None,
    caps: Mapping[str, Cap] | None = None,
    has_work: bool = False,
) -> Update | Check:
    """Return the write that counts if the Being exists and no cap is exceeded.

    `has_work` lists the Being for the sweep.
    """
    added = {name: amount for name, amount in (add or {}).items() if amount}
    work: dict[str, Value] = {}
    if has_work:
        added[WORK_SEQ] = 1
        work = {"gsi1pk": keys.work(being_id), "gsi1sk": being_id}
    if not added and not work:
        return Check(keys.meta(being_id), Present())
    conditions: list[Condition] = [Present()]
    for name, cap in (caps or {}).items():
        room = Compare(name, "<=", cap.most - added.get(name, 0))
        conditions.append(Either((Absent(name), room)))
    change = Change(set=work, add=added)
    return Update(keys.meta(being_id), change, Every(tuple(conditions)))


def write_counted(
    table: Table,
    being_id: str,
    writes: Sequence[Write],
    *,
    add: Mapping[str, int] | None = None,
    caps: Mapping[str, Cap] | None = None,
    has_work: bool = False,
) -> None:
    """Apply the writes and change the counters in one transaction.

    Raises NotFoundError when there is no such Being, InvalidInputError when a cap would be
    exceeded, and ConditionFailedError when a condition of a write does not hold.
    """
    count = _counting(being_id, add=add, caps=caps, has_work=has_work)
    try:
        table.transact([*writes, count])
    except ConditionFailedError as error:
        if error.index != len(writes):
            raise
        item = counters(table, being_id)
        for name, cap in (caps or {}).items():
            if count_in(item, name) + (add or {}).get(name, 0) > cap.most:
                raise InvalidInputError(
                    f"there are at most {cap.most} {cap.noun}; delete some first"
                ) from None
        raise


def announce_work(table: Table, being_id: str) -> None:
    """List the Being for the sweep; raises ConditionFailedError when there is no such Being."""
    listed: dict[str, Value] = {"gsi1pk": keys.work(being_id), "gsi1sk": being_id}
    change = Change(set=listed, add={WORK_SEQ: 1})
    table.update(keys.meta(being_id), change, when=Present())


def counters(table: Table, being_id: str) -> Item:
    """Return the Being's item; raises NotFoundError when there is no such Being."""
    item = table.get(keys.meta(being_id))
    if item is None:
        raise NotFoundError("there is no such Being")
    return item


def count_in(item: Item, name: str) -> int:
    """Return a counter of the Being's item, 0 if it is missing."""
    value = item.get(name, 0)
    return value if isinstance(value, int) else 0
