"""The state of each Being's index file: its name, and the points that changed since it was written.

One item of the Being holds both. Each write of points adds their ids to it in its own transaction,
so a search that reads the item knows of every change that was acknowledged. A new file takes the
place of the old one by a conditional write of the item.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from random import Random

from nacre.being.memory.index.index_state import IndexStates
from nacre.being.memory.model import keys
from nacre.core.clock import Clock
from nacre.core.errors import ConditionFailedError
from nacre.core.ids import short_id
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import (
    Absent,
    Change,
    Check,
    Compare,
    Condition,
    Every,
    Item,
    Present,
    Table,
    Update,
    Value,
)

INDEX_FILE = ItemSchema("index file", 1)
_CHANGED = "+"  # prefix of the attribute of a changed point
_ATTEMPTS = 20  # at replacing the item while others write


@dataclass(frozen=True, slots=True)
class IndexFile:
    """The state of a Being's file; times are in epoch seconds.

    `changes` counts the changes of points, and `folded` is how many of them the file has. `tail`
    holds the points that changed since, each with a value that is new at each change. `claim` is
    the name of a file that somebody is writing, and `left` has names of other files that may still
    exist.
    """

    since: int | None = None  # from when on every change is noted
    emb_id: str | None = None
    name: str | None = None
    written: int = 0
    changes: int = 0
    folded: int = 0
    claim: str | None = None
    claimed: int = 0
    left: tuple[str, ...] = ()
    tail: Mapping[str, str] = field(default_factory=dict)


class IndexFiles:
    """Reads and changes the states of Beings' files."""

    def __init__(self, table: Table, *, clock: Clock, rng: Random) -> None:
        self._table = table
        self._states = IndexStates(table)
        self._clock = clock
        self._rng = rng

    def read(self, being_id: str) -> IndexFile | None:
        """Return the state of a Being's file, or None before its first change."""
        item = self._table.get(keys.index_file(being_id))
        return None if item is None else _state(INDEX_FILE.read(item))

    def note(self, being_id: str, ids: Sequence[str]) -> Update:
        """Return the write that notes changes of points, for the transaction of the change."""
        changed: Item = {f"{_CHANGED}{id_}": short_id(self._rng)[:8] for id_ in ids}
        change = Change(set=INDEX_FILE.stamp(changed), add={"changes": len(ids)})
        return Update(keys.index_file(being_id), change)

    def note_now(self, being_id: str, ids: Sequence[str]) -> None:
        """Note changes of points whose items are written already."""
        note = self.note(being_id, ids)
        with suppress(ConditionFailedError):  # the Being was erased, or has no file any more
            self._table.update(note.key, note.change, when=Present())

    def begin(self, being_id: str) -> None:
        """Store that every change is noted from now on, if the Being has anything to search."""
        change = Change(set=INDEX_FILE.stamp({"since": self._now()}))
        begun = Update(keys.index_file(being_id), change, Absent("since"))
        with suppress(ConditionFailedError):
            self._table.transact([Check(keys.index_state(being_id), Present()), begun])

    def claim(self, being_id: str, state: IndexFile, name: str) -> bool:
        """Store the name of a file before it is written, so that a crash leaves no unknown file.

        Returns False if another process has written or claimed one since the state was read.
        """
        if state.name is None and not self._states.file(being_id):
            return False
        change = Change(set={"claim": name, "claimed": self._now(), "left": [name]})
        same = (_same("claim", state.claim), _same("name", state.name), _same("since", state.since))
        try:
            self._table.update(keys.index_file(being_id), change, when=Every(same))
        except ConditionFailedError:
            return False
        return True

    def replace(self, being_id: str, before: IndexFile, name: str, emb_id: str) -> bool:
        """Let searches read a file that was claimed; return False if another took its place.

        `before` is the state that was read before the points of the file. Points that have changed
        since then stay in the tail.
        """
        for _ in range(_ATTEMPTS):
            now = self.read(being_id)
            if now is None or now.claim != name:
                return False
            after = IndexFile(
                since=now.since,
                emb_id=emb_id,
                name=name,
                written=self._now(),
                changes=now.changes,
                folded=before.changes,
                left=() if now.name is None else (now.name,),
                tail={id_: at for id_, at in now.tail.items() if before.tail.get(id_) != at},
            )
            if self._put(being_id, after, _same("claim", name), now.changes):
                return True
        return False

    def drop(self, being_id: str, state: IndexFile) -> None:
        """Give up a file and its tail: searches read the items, until there is another file."""
        left = (*state.left, *([] if state.name is None else [state.name]))
        without = IndexFile(since=state.since, changes=state.changes, left=left)
        self._put(being_id, without, _same("name", state.name), state.changes)

    def _put(self, being_id: str, state: IndexFile, when: Condition, changes: int) -> bool:
        unchanged = Every((when, Compare("changes", "=", changes)))
        try:
            self._table.put(_item(being_id, state), when=unchanged)
        except ConditionFailedError:
            return False
        return True

    def _now(self) -> int:
        return int(self._clock().timestamp())


def _same(attribute: str, value: str | int | None) -> Condition:
    return Absent(attribute) if value is None else Compare(attribute, "=", value)


def _item(being_id: str, state: IndexFile) -> Item:
    texts = {"since": state.since, "emb_id": state.emb_id, "name": state.name, "claim": state.claim}
    item: Item = {
        **keys.index_file(being_id).attributes(),
        "written": state.written,
        "changes": state.changes,
        "folded": state.folded,
        "claimed": state.claimed,
        "left": list(state.left),
        **{name: value for name, value in texts.items() if value is not None},
        **{f"{_CHANGED}{id_}": at for id_, at in state.tail.items()},
    }
    return INDEX_FILE.stamp(item)


def _state(item: Item) -> IndexFile:
    left = item.get("left")
    return IndexFile(
        since=_number(item, "since"),
        emb_id=_text(item, "emb_id"),
        name=_text(item, "name"),
        written=_number(item, "written") or 0,
        changes=_number(item, "changes") or 0,
        folded=_number(item, "folded") or 0,
        claim=_text(item, "claim"),
        claimed=_number(item, "claimed") or 0,
        left=tuple(map(str, left)) if isinstance(left, list) else (),
        tail={
            name.removeprefix(_CHANGED): str(at)
            for name, at in item.items()
            if name.startswith(_CHANGED)
        },
    )


def _text(item: Item, name: str) -> str | None:
    value: Value = item.get(name)
    return value if isinstance(value, str) else None


def _number(item: Item, name: str) -> int | None:
    value: Value = item.get(name)
    return value if isinstance(value, int) else None
