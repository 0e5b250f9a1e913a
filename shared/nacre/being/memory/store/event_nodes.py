"""The nodes that events became, found by the fingerprints of the events.

The id of a node is made from its Being and the fingerprint of its event. An imported node keeps
the id that it had in another Being, so that references to it stay valid. A note then maps the
fingerprint to that id, in case the event is noted again.
"""

from collections.abc import Iterable, Iterator, Sequence

from nacre.being.memory.model import keys
from nacre.being.memory.model.types import Node, node_id_of
from nacre.being.memory.store.partitions import items_in
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import Delete, Item, Key, Put, Table, Write

KNOWN_EVENT = ItemSchema("known event", 1)


def nodes_of_events(table: Table, being_id: str, fingerprints: Iterable[str]) -> dict[str, Node]:
    """Return the nodes of these events by fingerprint, whatever their status."""
    events = list(dict.fromkeys(fingerprints))
    places = {Key(keys.nodes(being_id), node_id_of(being_id, event)): event for event in events}
    notes = {_note_key(being_id, event): event for event in events}
    items = table.get_many([*places, *notes])
    nodes = {event: Node.from_item(items[key]) for key, event in places.items() if key in items}
    imported = {
        Key(keys.nodes(being_id), str(KNOWN_EVENT.read(items[key])["node_id"])): event
        for key, event in notes.items()
        if key in items and event not in nodes
    }
    for key, item in table.get_many(imported).items():
        node = Node.from_item(item)
        if node.fingerprint == imported[key]:  # otherwise it was rebuilt from other scenes
            nodes[imported[key]] = node
    return nodes


def event_note_writes(being_id: str, node: Node) -> Iterator[Write]:
    """Yield the write of a note, for a node whose id is not made from its event."""
    if node.fingerprint is None or node.node_id == node_id_of(being_id, node.fingerprint):
        return
    item: Item = {**_note_key(being_id, node.fingerprint).attributes(), "node_id": node.node_id}
    yield Put(KNOWN_EVENT.stamp(item))


def event_note_deletions(table: Table, being_id: str, node_ids: Sequence[str]) -> Iterator[Write]:
    """Yield the deletions of all notes about these nodes."""
    deleted = set(node_ids)
    for item in items_in(table, keys.known_events(being_id)):
        if item["node_id"] in deleted:
            yield Delete(Key.of(item))


def _note_key(being_id: str, fingerprint: str) -> Key:
    return Key(keys.known_events(being_id), fingerprint)
