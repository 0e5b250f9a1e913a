"""Which node an event became: its own id says so, or a note that an import left.

A node's id follows from its Being and the fingerprint of its event. A node that came with an
import keeps the id that it had in another Being, so that everything which names it stays true;
where its event may come again, a note says under which id it is.
"""

from collections.abc import Iterable, Iterator, Sequence

from nacre.being.memory.model import keys
from nacre.being.memory.model.types import Node, node_id_of
from nacre.being.memory.store.partitions import items_in
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import Delete, Item, Key, Put, Table, Write

KNOWN_EVENT = ItemSchema("known event", 1)


def known_nodes(table: Table, being_id: str, fingerprints: Iterable[str]) -> dict[str, Node]:
    """Return the nodes that these events became, by fingerprint and whatever their status."""
    wanted = list(dict.fromkeys(fingerprints))
    own = {Key(keys.nodes(being_id), node_id_of(being_id, each)): each for each in wanted}
    notes = {_note(being_id, each): each for each in wanted}
    found = table.get_many([*own, *notes])
    known = {own[key]: Node.from_item(found[key]) for key in own if key in found}
    brought = {
        Key(keys.nodes(being_id), str(KNOWN_EVENT.read(found[key])["node_id"])): each
        for key, each in notes.items()
        if key in found and each not in known
    }
    for key, item in table.get_many(brought).items():
        node = Node.from_item(item)
        if node.fingerprint == brought[key]:  # else it was made anew of other scenes meanwhile
            known[brought[key]] = node
    return known


def noted(being_id: str, node: Node) -> Iterator[Write]:
    """Give the note about a node whose id does not follow from its event."""
    if node.fingerprint is None or node.node_id == node_id_of(being_id, node.fingerprint):
        return
    place = _note(being_id, node.fingerprint)
    item: Item = {"pk": place.pk, "sk": place.sk, "node_id": node.node_id}
    yield Put(KNOWN_EVENT.stamp(item))


def forgotten(table: Table, being_id: str, node_ids: Sequence[str]) -> Iterator[Write]:
    """Give the deletions of all notes about these nodes."""
    gone = set(node_ids)
    for item in items_in(table, keys.known_events(being_id)):
        if item["node_id"] in gone:
            yield Delete(Key(str(item["pk"]), str(item["sk"])))


def _note(being_id: str, fingerprint: str) -> Key:
    return Key(keys.known_events(being_id), fingerprint)
