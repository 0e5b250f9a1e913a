"""The scenes that a memory was told by: the newest in its item, all earlier ones in further items.

So a memory that was told thousands of times costs as much to read and to write as one that was
told twenty times. A `whole` node lists all of its scenes, as version 0.1.0 stored every node. Such
an item is read as it is, and its scenes move when it is written.

The further items of a node are numbered. Each has the next 512 scenes in the order in which they
were told, and the last one the rest. They are written in the transaction that writes the node, and
only if that has not changed. Another telling only adds to them, so they still complete a node that
was read before it.
"""

from collections.abc import Iterable, Iterator, Sequence

from nacre.being.memory.model import keys
from nacre.being.memory.model.types import ULID_LENGTH, Node
from nacre.being.memory.store.partitions import items_in
from nacre.core.lazy_dataclasses import replace
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import Condition, Delete, Item, Key, Put, Table, Write

EVIDENCE = ItemSchema("evidence", 1)

MOST = 32  # scenes in the item of a node: as many as one kilobyte has room for
MOVED = 16  # scenes that leave it at once
IN_ITEM = 512  # scenes in a further item, of which some 15 kB are written at once; never change it


def is_overlong(node: Node) -> bool:
    """Return whether the item of a node has scenes that are to move out of it."""
    return len(node.evidence) > MOST


def node_writes(
    being_id: str,
    node: Node,
    *,
    when: Condition,
    before: Node | None = None,
    last: Sequence[str] = (),
) -> list[Write]:
    """Return the writes that store a node, the first for its item and others for its scenes.

    `before` is the stored node that it replaces. If that has further items and the node is whole,
    these are written anew. `last` are the scenes of the last further item, if it is not full.
    """
    is_anew = not node.earlier
    node, items = _divided(being_id, node, last)
    writes: list[Write] = [Put(node.to_item(being_id), when), *map(Put, items)]
    if is_anew and before is not None:
        writes += evidence_deletions(being_id, before, first=number_of_items(node))
    return writes


def telling_writes(
    table: Table, being_id: str, before: Node, after: Node, *, when: Condition
) -> list[Write]:
    """Return the writes of a node that was told again; reads one item if scenes have to move."""
    last: Sequence[str] = ()
    if is_overlong(after) and (rest := before.earlier % IN_ITEM):
        item = table.get(_place(being_id, before.node_id, before.earlier // IN_ITEM))
        last = [] if item is None else _scenes(item)[:rest]
    return node_writes(being_id, after, when=when, before=before, last=last)


def evidence_deletions(being_id: str, node: Node, *, first: int = 0) -> Iterator[Write]:
    """Yield the deletions of the further items of a node, from a number on."""
    for number in range(first, number_of_items(node)):
        yield Delete(_place(being_id, node.node_id, number))


def number_of_items(node: Node) -> int:
    """Return how many further items a stored node has."""
    return -(-node.earlier // IN_ITEM)


def whole_nodes(table: Table, being_id: str, nodes: Iterable[Node]) -> list[Node]:
    """Return the nodes with all of their scenes; only those with further items take a read."""
    nodes = list(nodes)
    places = {
        node.node_id: [
            _place(being_id, node.node_id, number) for number in range(number_of_items(node))
        ]
        for node in nodes
        if node.earlier
    }
    if not places:
        return nodes
    items = table.get_many(place for several in places.values() for place in several)
    return [
        _whole(node, [items[place] for place in places[node.node_id] if place in items])
        if node.node_id in places
        else node
        for node in nodes
    ]


def first_scenes(table: Table, being_id: str, node: Node, limit: int) -> tuple[str, ...]:
    """Return the first scenes that a node was told by, at most so many."""
    if not node.earlier:
        return node.evidence[:limit]
    item = table.get(_place(being_id, node.node_id, 0))
    earlier = [] if item is None else _scenes(item)[: node.earlier]
    return (*earlier, *(node.evidence if node.earlier < IN_ITEM else ()))[:limit]


def holders_of(table: Table, being_id: str, scene_id: str) -> set[str]:
    """Return the ids of the nodes that have a scene in a further item; reads all of these."""
    return {
        str(item["sk"]).rpartition("#")[0]
        for item in items_in(table, keys.evidence(being_id))
        if scene_id in _scenes(item)
    }


def _divided(being_id: str, node: Node, last: Sequence[str]) -> tuple[Node, list[Item]]:
    """Return the node with at most `MOST` scenes, and the items that the others are added to."""
    over = len(node.evidence) - MOST
    if over <= 0:
        return node, []
    moved = node.evidence[: -(-over // MOVED) * MOVED]
    scenes = (*last, *moved)
    first = node.earlier // IN_ITEM
    items = [
        _item(being_id, node.node_id, first + number, scenes[start : start + IN_ITEM])
        for number, start in enumerate(range(0, len(scenes), IN_ITEM))
    ]
    newest = max((node.newest_earlier or "", *(id_ for id_ in moved if len(id_) == ULID_LENGTH)))
    after = replace(
        node,
        evidence=node.evidence[len(moved) :],
        earlier=node.earlier + len(moved),
        newest_earlier=newest or None,
    )
    return after, items


def _whole(node: Node, items: Sequence[Item]) -> Node:
    earlier = [scene_id for item in items for scene_id in _scenes(item)][: node.earlier]
    # A change of the node since it was read may have moved a scene, which is then here twice.
    evidence = tuple(dict.fromkeys((*earlier, *node.evidence)))
    return replace(node, evidence=evidence, earlier=0, newest_earlier=None)


def _place(being_id: str, node_id: str, number: int) -> Key:
    return Key(keys.evidence(being_id), f"{node_id}#{number:04}")


def _item(being_id: str, node_id: str, number: int, scenes: Sequence[str]) -> Item:
    place = _place(being_id, node_id, number)
    return EVIDENCE.stamp({**place.attributes(), "scenes": list(scenes)})


def _scenes(item: Item) -> list[str]:
    scenes = EVIDENCE.read(item)["scenes"]
    assert isinstance(scenes, list)
    return list(map(str, scenes))
