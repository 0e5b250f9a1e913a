"""Think notes: what stood out to the last patrol that thought about the memory."""

from nacre.being.memory.model import keys
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import Key, Table

THINK = ItemSchema("think notes", 1)


def think_key(being_id: str) -> Key:
    """Return where the think notes are."""
    return Key(keys.home(being_id), "THINK")


def think_notes(table: Table, being_id: str) -> tuple[str, ...]:
    """Return them; none where no patrol had a model to think with."""
    item = table.get(think_key(being_id))
    notes = [] if item is None else THINK.read(item).get("notes")
    return tuple(map(str, notes)) if isinstance(notes, list) else ()
