"""Pins: what a server's tools were when somebody trusted them, and what they have become.

The tools of a server's first list are trusted. Later a tool that is new, or another than
it was, waits until its owner has seen the difference.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from nacre.errors import ConditionFailedError, NotFoundError
from nacre.policy.digests import canonical, digest
from nacre.ports.paging import every_item
from nacre.ports.table import SCHEMA, Absent, Compare, Item, Key, Put, Range, Table

_PINNED = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
GLOBAL = "global"  # the scope of a whole laptop or stack
_SCHEMA_1 = 1
_TOOL = "TOOL#"
_BASELINE = "BASELINE"
_AT_ONCE = 50
_KEPT_BYTES = 150_000  # of one definition: two of them and their names fit into an item
_LONGEST_NAME = 200

State = Literal["trusted", "new", "changed", "flagged"]


@dataclass(frozen=True, slots=True)
class Pin:
    """One tool: the definition that is trusted, and the one that waits. "" is none."""

    name: str
    trusted: str
    waiting: str
    trusted_definition: str
    waiting_definition: str
    state: State

    def before(self) -> str:
        """Return the trusted definition for people to read."""
        return _readable(self.trusted_definition)

    def after(self) -> str:
        """Return the definition that waits, for people to read."""
        return _readable(self.waiting_definition)


def fingerprint(definition: Mapping[str, Any]) -> str:
    """Return the digest of what a model and a client act on in a tool's definition."""
    return digest(_pinned(definition))


class Pins:
    """The pins of every server of one scope: this laptop, or a Being."""

    def __init__(self, table: Table, scope: str) -> None:
        self._table = table
        self._scope = scope

    def servers(self) -> list[str]:
        """Return the servers that have pins."""
        return [str(item["sk"]) for item in self._items(f"PIN#{self._scope}", "")]

    def of(self, server: str) -> dict[str, Pin]:
        """Return a server's pins by the tools' names."""
        return {pin.name: pin for pin in map(_pin, self._items(self._partition(server), _TOOL))}

    def has_baseline(self, server: str) -> bool:
        """Tell whether the server's first list is known."""
        return self._table.get(Key(self._partition(server), _BASELINE)) is not None

    def observe(
        self,
        server: str,
        definitions: Sequence[Mapping[str, Any]],
        *,
        is_first: bool,
        flagged: Collection[str] = (),
    ) -> dict[str, Pin]:
        """Compare a list with the pins, keep what is new in it, and return its tools' pins.

        `is_first`: the list is of those that are trusted, but for the `flagged` tools.
        """
        known = self.of(server)
        found: dict[str, Pin] = {}
        fresh: list[Pin] = []
        for definition in definitions:
            name = str(definition["name"])
            trusts = is_first and name not in flagged
            pin = _compared(found.get(name) or known.get(name), definition, name, trusts=trusts)
            if name in flagged and pin.state == "new":
                pin = _with_state(pin, "flagged")
            if pin != (found.get(name) or known.get(name)):
                fresh.append(pin)
            found[name] = pin
        self._keep(server, {pin.name: pin for pin in fresh}.values(), is_first=is_first)
        return found

    def approve(self, server: str, pins: Sequence[Pin]) -> None:
        """Trust the definitions that wait; raises when one has changed since it was shown."""
        for pin in pins:
            trusted = Pin(pin.name, pin.waiting, "", pin.waiting_definition, "", "trusted")
            same = Compare("waiting", "=", pin.waiting)
            try:
                self._table.put(self._item(server, trusted), when=same)
            except ConditionFailedError as error:
                raise NotFoundError(
                    f"the tool '{pin.name}' has changed again; look at it once more"
                ) from error

    def _keep(self, server: str, pins: Collection[Pin], *, is_first: bool) -> None:
        writes = [Put(self._item(server, pin)) for pin in pins]
        for start in range(0, len(writes), _AT_ONCE):
            self._table.transact(writes[start : start + _AT_ONCE])
        if is_first:
            names: Item = {"pk": f"PIN#{self._scope}", "sk": server, SCHEMA: _SCHEMA_1}
            first: Item = {"pk": self._partition(server), "sk": _BASELINE, SCHEMA: _SCHEMA_1}
            try:
                self._table.transact([Put(first, Absent()), Put(names)])
            except ConditionFailedError:
                return

    def _item(self, server: str, pin: Pin) -> Item:
        return {
            "pk": self._partition(server),
            "sk": _TOOL + (pin.name if len(pin.name) <= _LONGEST_NAME else digest(pin.name)),
            SCHEMA: _SCHEMA_1,
            "name": pin.name[:1000],
            "trusted": pin.trusted,
            "waiting": pin.waiting,
            "trusted_definition": pin.trusted_definition,
            "waiting_definition": pin.waiting_definition,
            "state": pin.state,
        }

    def _partition(self, server: str) -> str:
        return f"PIN#{self._scope}#{server}"

    def _items(self, partition: str, prefix: str) -> Iterator[Item]:
        keys = Range(prefix=prefix) if prefix else None
        return every_item(self._table, partition, keys=keys)


def _compared(known: Pin | None, definition: Mapping[str, Any], name: str, *, trusts: bool) -> Pin:
    """Return the pin of a tool, now that it has this definition."""
    now = fingerprint(definition)
    if known is not None and known.trusted == now:
        return Pin(name, now, "", known.trusted_definition, "", "trusted")
    if known is not None and known.waiting == now:
        return known
    text = canonical(_pinned(definition)).decode("utf-8", "replace")
    kept = text if len(text.encode()) <= _KEPT_BYTES else ""
    if known is None and trusts:
        return Pin(name, now, "", kept, "", "trusted")
    if known is None or not known.trusted:
        return Pin(name, "", now, "", kept, "new")
    return Pin(name, known.trusted, now, known.trusted_definition, kept, "changed")


def _with_state(pin: Pin, state: State) -> Pin:
    return Pin(
        pin.name, pin.trusted, pin.waiting, pin.trusted_definition, pin.waiting_definition, state
    )


def _pinned(definition: Mapping[str, Any]) -> dict[str, Any]:
    return {name: definition[name] for name in _PINNED if name in definition}


def _pin(item: Item) -> Pin:
    state: Any = item["state"]
    return Pin(
        str(item["name"]),
        str(item["trusted"]),
        str(item["waiting"]),
        str(item["trusted_definition"]),
        str(item["waiting_definition"]),
        state,
    )


def _readable(definition: str) -> str:
    if not definition:
        return ""
    return json.dumps(json.loads(definition), indent=2, ensure_ascii=True) + "\n"
