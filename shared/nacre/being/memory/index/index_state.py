"""Which embedding a Being's searches use, and which one is being made."""

from dataclasses import dataclass

from nacre.being.memory.model import keys
from nacre.core.errors import ConditionFailedError
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import (
    Absent,
    Change,
    Compare,
    Condition,
    Every,
    Item,
    Key,
    Table,
    Update,
    Write,
)

INDEX = ItemSchema("search index", 1)
LEXICAL = "none"
"""The embedding of a Being whose memories are found by their words only."""

_UNDER_WAY = frozenset({"target", "cursor", "done"})


@dataclass(frozen=True, slots=True)
class IndexState:
    """The embedding that answers, and where the making of its successor has got to."""

    active: str
    target: str | None = None
    cursor: str | None = None  # the id up to which the target is made
    done: int = 0

    @property
    def emb_ids(self) -> tuple[str, ...]:
        """Return the embeddings that every write goes to."""
        return (self.active,) if self.target is None else (self.active, self.target)


class IndexStates:
    """Reads and changes the state of each Being's index."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def get(self, being_id: str) -> IndexState | None:
        """Return the state; None for a Being that has nothing to search yet."""
        item = self._table.get(state_key(being_id))
        return None if item is None else state_in(item)

    def begun(self, being_id: str, emb_id: str) -> IndexState:
        """Return the state, which begins with an embedding where there is none yet."""
        key = state_key(being_id)
        item: Item = {"pk": key.pk, "sk": key.sk, "active": emb_id}
        try:
            self._table.put(INDEX.stamp(item), when=Absent())
        except ConditionFailedError:  # another writer was faster
            found = self.get(being_id)
            if found is not None:
                return found
            raise
        return IndexState(emb_id)

    def aim(self, being_id: str, state: IndexState, target: str) -> None:
        """Begin to make another embedding; from now on every write goes to both."""
        change = Change(set={"target": target, "done": 0}, remove=frozenset({"cursor"}))
        self._change(being_id, state, change)

    def checkpoint(self, table: Table, being_id: str, state: IndexState) -> None:
        """Remember how far the target is, in whichever way `table` writes."""
        change = Change(set={"cursor": state.cursor, "done": state.done})
        table.update(state_key(being_id), change, when=_as(state))

    def switch(self, being_id: str, state: IndexState, also: Write) -> None:
        """Let the target answer from now on, with another write or not at all."""
        change = Change(set={"active": state.target}, remove=_UNDER_WAY)
        self._change(being_id, state, change, also)

    def give_up(self, being_id: str, state: IndexState, also: Write) -> None:
        """Stop making the target, with another write or not at all."""
        self._change(being_id, state, Change(remove=_UNDER_WAY), also)

    def _change(self, being_id: str, state: IndexState, change: Change, *also: Write) -> None:
        update = Update(state_key(being_id), change, _as(state))
        self._table.transact([update, *also])


def state_key(being_id: str) -> Key:
    """Return where the state is."""
    return Key(keys.home(being_id), "INDEX")


def state_in(item: Item) -> IndexState:
    """Return the state in an item."""
    item = INDEX.read(item)
    target, cursor, done = item.get("target"), item.get("cursor"), item.get("done", 0)
    return IndexState(
        active=str(item["active"]),
        target=None if target is None else str(target),
        cursor=None if cursor is None else str(cursor),
        done=done if isinstance(done, int) else 0,
    )


def _as(state: IndexState) -> Condition:
    same: Condition = (
        Absent("target") if state.target is None else Compare("target", "=", state.target)
    )
    return Every((Compare("active", "=", state.active), same))
