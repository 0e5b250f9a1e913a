"""The relations of a Being to entities; one for each name, whatever its case."""

from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import Cap, write_counted
from nacre.being.memory.model.fields import checked_name, checked_text, name_key
from nacre.being.memory.model.records import attributes_of
from nacre.being.memory.model.types import RELATION, Relation, moment
from nacre.being.memory.store.retry import retry_on_conflict
from nacre.core.clock import Clock
from nacre.core.lazy_dataclasses import dataclass, replace
from nacre.core.limits import MAX_RELATION_BYTES, MAX_RELATION_TYPE, MAX_RELATIONS
from nacre.ports.items.table import Absent, Compare, Delete, Item, Key, Put, Range, Table

COUNTER = "n_relations"
CAPS = {COUNTER: Cap(MAX_RELATIONS, "relations")}


@dataclass(frozen=True, slots=True)
class RelationPage:
    """Some relations in the order of their keys; `next` is where to continue."""

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
        page = self._table.query(
            keys.home(being_id), keys=Range(prefix=keys.RELATION), limit=limit, start=start
        )
        return RelationPage(tuple(map(Relation.from_item, page.items)), page.next)

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
        relation = Relation(
            entity=checked_name(entity, "entity_name"),
            type=checked_name(relation_type, "relation_type", limit=MAX_RELATION_TYPE),
            content=checked_text(content, "content", limit=MAX_RELATION_BYTES),
            updated_at=moment(self._clock()),
            evidence=evidence,
        )
        return retry_on_conflict(lambda: self._upsert(being_id, relation))

    def delete(self, being_id: str, entity: str) -> Relation | None:
        """Delete the relation and return it, or None if there was none."""
        name = checked_name(entity, "entity_name")
        return retry_on_conflict(lambda: self._delete(being_id, name))

    def _upsert(self, being_id: str, relation: Relation) -> tuple[Relation, Relation | None]:
        before = self.get(being_id, relation.entity)
        version = 1 if before is None else before.version + 1
        relation = replace(relation, version=version)
        item: Item = {**_place(being_id, relation.entity).attributes(), **attributes_of(relation)}
        when = Absent() if before is None else Compare("version", "=", before.version)
        write_counted(
            self._table,
            being_id,
            [Put(RELATION.stamp(item), when)],
            add={COUNTER: 1} if before is None else None,
            caps=CAPS,
        )
        return relation, before

    def _delete(self, being_id: str, name: str) -> Relation | None:
        before = self.get(being_id, name)
        if before is None:
            return None
        deletion = Delete(_place(being_id, name), Compare("version", "=", before.version))
        write_counted(self._table, being_id, [deletion], add={COUNTER: -1})
        return before


def _place(being_id: str, name: str) -> Key:
    return Key(keys.home(being_id), keys.RELATION + name_key(name))
