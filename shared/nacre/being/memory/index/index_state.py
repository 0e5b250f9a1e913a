"""The state of a Being's index: the embedding in use, and the one that is being built."""

from contextlib import suppress

from nacre.being.memory.model import keys
from nacre.core.errors import ConditionFailedError
from nacre.core.lazy_dataclasses import dataclass
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import (
    SCHEMA,
    Absent,
    Change,
    Compare,
    Condition,
    Delete,
    Every,
    Item,
    Present,
    Table,
    Update,
    Write,
)

INDEX = ItemSchema("search index", 2, {1: lambda item: item})  # 2: its points are in a file
_UNFILED = 1
LEXICAL = "none"
"""The embedding of a Being whose memories are found by words only."""

SUMMARIZED = "~"
"""Stands for the last point: all have summaries. It sorts after every id."""

_PROGRESS = frozenset({"target", "cursor", "done"})


@dataclass(frozen=True, slots=True)
class IndexState:
    """The embedding that answers searches, and the progress of the one that will replace it.

    `former` are earlier ones whose vectors are kept for a while. Memories that are removed are
    removed from these too. `filed` says that there may be a file of points, in whose
    state every write notes its changes; versions without such files then refuse the state.
    """

    active: str
    target: str | None = None
    cursor: str | None = None  # the id up to which the target is built
    done: int = 0
    former: tuple[str, ...] = ()
    summarized: str | None = SUMMARIZED  # the id up to which points have summaries
    filed: bool = False

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
        item: Item = {
            **keys.index_state(being_id).attributes(),
            "active": emb_id,
            "summarized": SUMMARIZED,
            SCHEMA: _UNFILED,
        }
        try:
            self._table.put(item, when=Absent())
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

    def summarize(self, table: Table, being_id: str, up_to: str) -> None:
        """Store through `table` up to which point all have summaries."""
        table.update(keys.index_state(being_id), Change(set={"summarized": up_to}), when=Present())

    def switch(self, being_id: str, state: IndexState, also: Write) -> None:
        """Make the target the active embedding, in one transaction with another write."""
        former = {*state.former, state.active} - {state.target}
        change = Change({"active": state.target, "former": [*sorted(former)]}, remove=_PROGRESS)
        self._change(being_id, state, change, also)

    def forget(self, being_id: str, state: IndexState, emb_id: str) -> None:
        """Store that the vectors of a former embedding are gone."""
        former = [other for other in state.former if other != emb_id]
        with suppress(ConditionFailedError):  # somebody is changing it; a name too many is harmless
            self._change(being_id, state, Change({"former": [*former]}))

    def give_up(self, being_id: str, state: IndexState, also: Write) -> None:
        """Stop building the target, in one transaction with another write."""
        former = sorted({*state.former, *state.emb_ids[1:]})
        self._change(being_id, state, Change({"former": [*former]}, remove=_PROGRESS), also)

    def file(self, being_id: str) -> bool:
        """Store that there may be a file of points; return False if there is no state."""
        change = Change(set=INDEX.stamp({"filed": True}))
        try:
            self._table.update(keys.index_state(being_id), change, when=Present())
        except ConditionFailedError:
            return False
        return True

    def unfile(self, being_id: str) -> None:
        """Give up the file of points, for a writer that notes no changes there."""
        change = Change(set={SCHEMA: _UNFILED}, remove=frozenset({"filed"}))
        with suppress(ConditionFailedError):  # the Being is being erased
            self._table.transact(
                [
                    Update(keys.index_state(being_id), change, Present()),
                    Delete(keys.index_file(being_id)),
                ]
            )

    def _change(self, being_id: str, state: IndexState, change: Change, *also: Write) -> None:
        update = Update(keys.index_state(being_id), change, _unchanged(state))
        self._table.transact([update, *also])


def state_from_item(item: Item) -> IndexState:
    """Return the state in an item."""
    item = INDEX.read(item)
    former, summarized = item.get("former"), item.get("summarized")
    target, cursor, done = item.get("target"), item.get("cursor"), item.get("done", 0)
    return IndexState(
        active=str(item["active"]),
        target=None if target is None else str(target),
        cursor=None if cursor is None else str(cursor),
        done=done if isinstance(done, int) else 0,
        former=tuple(map(str, former)) if isinstance(former, list) else (),
        summarized=None if summarized is None else str(summarized),
        filed=item.get("filed") is True,
    )


def _unchanged(state: IndexState) -> Condition:
    same: Condition = (
        Absent("target") if state.target is None else Compare("target", "=", state.target)
    )
    return Every((Compare("active", "=", state.active), same))
