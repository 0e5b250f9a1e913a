"""How the Being stands to entities of every kind; one entry per name, whatever its case."""

from dataclasses import dataclass, replace

from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import Cap, write_counted
from nacre.being.memory.model.fields import checked_name, checked_text, name_key
from nacre.being.memory.model.records import attributes_of
from nacre.being.memory.model.types import RELATION, Relation, moment
from nacre.being.memory.store.retry import settled
from nacre.core.clock import Clock
from nacre.core.limits import MAX_RELATION_BYTES, MAX_RELATION_TYPE, MAX_RELATIONS
from nacre.ports.items.table import Absent, Compare, Delete, Item, Key, Put, Range, Table

COUNTER = "n_relations"
CAPS = {COUNTER: Cap(MAX_RELATIONS, "relations")}


@dataclass(frozen=True, slots=True)
class RelationPage:
    """Some relations in the order of their keys; `next` is where more begin."""

    relations: tuple[Relation, ...]
    next: str | None


class Relations:
    """Creates, overwrites, lists and deletes relations."""

    def __init__(self, table: Table, *, clock: Clock) -> None:
        self._table = table
        self._clock = clock

    def get(self, being_id: str, entity: str) -> Relation | None:
        """Return the relation to an entity, or None."""
        item = self._table.get(_place(being_id, checked_name(entity, "entity_name")))
        return None if item is None else Relation.from_item(item)

    def page(
        self, being_id: str, *, limit: int | None = None, start: str | None = None
    ) -> RelationPage:
        """Return relations in the order of their names."""
        found = self._table.query(
            keys.home(being_id), keys=Range(prefix=keys.RELATION), limit=limit, start=start
        )
        return RelationPage(tuple(map(Relation.from_item, found.items)), found.next)

    def upsert(
        self,
        being_id: str,
        entity: str,
        *,
        relation_type: str,
        content: str,
        evidence: tuple[str, ...] = (),
    ) -> tuple[Relation, Relation | None]:
        """Create or overwrite a relation; return it and the one before."""
        wanted = Relation(
            entity=checked_name(entity, "entity_name"),
            type=checked_name(relation_type, "relation_type", limit=MAX_RELATION_TYPE),
            content=checked_text(content, "content", limit=MAX_RELATION_BYTES),
            updated_at=moment(self._clock()),
            evidence=evidence,
        )
        return settled(lambda: self._upsert(being_id, wanted))

    def delete(self, being_id: str, entity: str) -> Relation | None:
        """Remove the relation and return it; None when there was none."""
        name = checked_name(entity, "entity_name")
        return settled(lambda: self._delete(being_id, name))

    def _upsert(self, being_id: str, wanted: Relation) -> tuple[Relation, Relation | None]:
        before = self.get(being_id, wanted.entity)
        version = 1 if before is None else before.version + 1
        now = replace(wanted, version=version)
        place = _place(being_id, wanted.entity)
        item: Item = {"pk": place.pk, "sk": place.sk, **attributes_of(now)}
        when = Absent() if before is None else Compare("version", "=", before.version)
        write_counted(
            self._table,
            being_id,
            [Put(RELATION.stamp(item), when)],
            add={COUNTER: 1} if before is None else None,
            caps=CAPS,
        )
        return now, before

    def _delete(self, being_id: str, name: str) -> Relation | None:
        before = self.get(being_id, name)
        if before is None:
            return None
        gone = Delete(_place(being_id, name), Compare("version", "=", before.version))
        write_counted(self._table, being_id, [gone], add={COUNTER: -1})
        return before


def _place(being_id: str, name: str) -> Key:
    return Key(keys.home(being_id), keys.RELATION + name_key(name))
