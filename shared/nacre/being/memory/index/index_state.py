"""The state of a Being's index: the embedding in use, and the one that is being built."""

from nacre.being.memory.model import keys
from nacre.core.errors import ConditionFailedError
from nacre.core.lazy_dataclasses import dataclass
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import (
    Absent,
    Change,
    Compare,
    Condition,
    Every,
    Item,
    Table,
    Update,
    Write,
)

INDEX = ItemSchema("search index", 1)
LEXICAL = "none"
"""The embedding of a Being whose memories are found by words only."""

_PROGRESS = frozenset({"target", "cursor", "done"})


@dataclass(frozen=True, slots=True)
class IndexState:
    """The embedding that answers searches, and the progress of the one that will replace it."""

    active: str
    target: str | None = None
    cursor: str | None = None  # the id up to which the target is built
    done: int = 0

    @property
    def emb_ids(self) -> tuple[str, ...]:
        """Return the embeddings that every write updates."""
        return (self.active,) if self.target is None else (self.active, self.target)


class IndexStates:
    """Reads and changes the state of each Being's index."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def get(self, being_id: str) -> IndexState | None:
        """Return the state, or None if the Being has nothing to search yet."""
        item = self._table.get(keys.index_state(being_id))
        return None if item is None else state_from_item(item)

    def create(self, being_id: str, emb_id: str) -> IndexState:
        """Create the state with an embedding, unless there is one, and return it."""
        item: Item = {**keys.index_state(being_id).attributes(), "active": emb_id}
        try:
            self._table.put(INDEX.stamp(item), when=Absent())
        except ConditionFailedError:  # another writer was faster
            state = self.get(being_id)
            if state is not None:
                return state
            raise
        return IndexState(emb_id)

    def aim(self, being_id: str, state: IndexState, target: str) -> None:
        """Begin to build another embedding; from now on every write updates both."""
        change = Change(set={"target": target, "done": 0}, remove=frozenset({"cursor"}))
        self._change(being_id, state, change)

    def checkpoint(self, table: Table, being_id: str, state: IndexState) -> None:
        """Store the progress of the target through `table`."""
        change = Change(set={"cursor": state.cursor, "done": state.done})
        table.update(keys.index_state(being_id), change, when=_unchanged(state))

    def switch(self, being_id: str, state: IndexState, also: Write) -> None:
        """Make the target the active embedding, in one transaction with another write."""
        change = Change(set={"active": state.target}, remove=_PROGRESS)
        self._change(being_id, state, change, also)

    def give_up(self, being_id: str, state: IndexState, also: Write) -> None:
        """Stop building the target, in one transaction with another write."""
        self._change(being_id, state, Change(remove=_PROGRESS), also)

    def _change(self, being_id: str, state: IndexState, change: Change, *also: Write) -> None:
        update = Update(keys.index_state(being_id), change, _unchanged(state))
        self._table.transact([update, *also])


def state_from_item(item: Item) -> IndexState:
    """Return the state in an item."""
    item = INDEX.read(item)
    target, cursor, done = item.get("target"), item.get("cursor"), item.get("done", 0)
    return IndexState(
        active=str(item["active"]),
        target=None if target is None else str(target),
        cursor=None if cursor is None else str(cursor),
        done=done if isinstance(done, int) else 0,
    )


def _unchanged(state: IndexState) -> Condition:
    same: Condition = (
        Absent("target") if state.target is None else Compare("target", "=", state.target)
    )
    return Every((Compare("active", "=", state.active), same))
