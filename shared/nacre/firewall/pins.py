"""Pins: the definitions that were trusted when a server was approved, and changes since.

The tools, prompts and resource templates of a server's first list are trusted, and so are its
first instructions. A later one that is new or changed waits until its owner has seen the
difference. Resources come and go like files: a new one is trusted when it is first seen, unless
it tries to instruct, and one whose words change waits.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Literal

from nacre.core.errors import ConditionFailedError, NotFoundError
from nacre.core.lazy_dataclasses import dataclass, replace
from nacre.firewall.content.digests import canonical, digest
from nacre.ports.items.paging import every_item
from nacre.ports.items.table import SCHEMA, Absent, Compare, Item, Key, Put, Range, Table

PinKind = Literal["tool", "prompt", "resource", "template", "instructions"]
KINDS: tuple[PinKind, ...] = ("tool", "prompt", "resource", "template", "instructions")
INSTRUCTIONS = "instructions"  # the name of the one pin of its kind

_NAMED = ("name", "title", "description")
# The members that a model and a client act on; the time of a resource's change is not one.
_PINNED: Mapping[PinKind, tuple[str, ...]] = {
    "tool": (*_NAMED, "inputSchema", "outputSchema", "annotations"),
    "prompt": (*_NAMED, "arguments"),
    "resource": (*_NAMED, "uri", "mimeType"),
    "template": (*_NAMED, "uriTemplate", "mimeType"),
    "instructions": (INSTRUCTIONS,),
}
_KEYS: Mapping[PinKind, str] = {
    "tool": "name",
    "prompt": "name",
    "resource": "uri",
    "template": "uriTemplate",
}
GLOBAL = "global"  # the scope of a whole laptop or stack
_SCHEMA_1 = 1
_BASELINE = "BASELINE"
_AT_ONCE = 50
_KEPT_BYTES = 150_000  # of one definition: two of them and their names fit into an item
_MAX_NAME = 200

State = Literal["trusted", "new", "changed", "flagged"]


@dataclass(frozen=True, slots=True)
class Pin:
    """The trusted definition of something, and the one that waits; "" means none.

    `name` is the URI of a resource, and the URI template of a template.
    """

    name: str
    trusted: str
    waiting: str
    trusted_definition: str
    waiting_definition: str
    state: State
    kind: PinKind = "tool"

    @property
    def label(self) -> str:
        """The name as its owner sees it."""
        return label(self.kind, self.name)

    def before(self) -> str:
        """Return the trusted definition for people to read."""
        return _readable(self.trusted_definition)

    def after(self) -> str:
        """Return the definition that waits, for people to read."""
        return _readable(self.waiting_definition)


def fingerprint(definition: Mapping[str, Any], kind: PinKind = "tool") -> str:
    """Return the digest of the members of a definition that a model and a client act on."""
    return digest(_pinned(definition, kind))


def pin_name(definition: Mapping[str, Any], kind: PinKind) -> str:
    """Return the name under which a definition is pinned."""
    return INSTRUCTIONS if kind == "instructions" else str(definition[_KEYS[kind]])


def label(kind: PinKind, name: str) -> str:
    """Return an owner's name for a pin, such as `prompt:greet`; a tool's name has no prefix."""
    if kind == "instructions":
        return kind
    if kind == "tool" and name.partition(":")[0] not in KINDS:
        return name
    return f"{kind}:{name}"


def may_name(template: str, uri: str) -> bool:
    """Tell whether a resource may belong to a template, by the fixed ends of the template."""
    head, _, tail = template.partition("{")
    return bool(head) and uri.startswith(head) and uri.endswith(tail.rpartition("}")[2])


class Pins:
    """The pins of every server of one scope: this laptop, or a Being."""

    def __init__(self, table: Table, scope: str) -> None:
        self._table = table
        self._scope = scope

    def servers(self) -> list[str]:
        """Return the servers that have pins."""
        return [str(item["sk"]) for item in self._items(f"PIN#{self._scope}", "")]

    def of(self, server: str, kind: PinKind = "tool") -> dict[str, Pin]:
        """Return a server's pins of one kind by name."""
        return {
            pin.name: pin for pin in map(_pin, self._items(self._partition(server), _prefix(kind)))
        }

    def every(self, server: str) -> dict[str, Pin]:
        """Return a server's pins of all kinds by label."""
        return {pin.label: pin for kind in KINDS for pin in self.of(server, kind).values()}

    def has_baseline(self, server: str, kind: PinKind = "tool") -> bool:
        """Tell whether the server's first list of this kind is known."""
        return self._table.get(Key(self._partition(server), _baseline(kind))) is not None

    def observe(
        self,
        server: str,
        definitions: Sequence[Mapping[str, Any]],
        *,
        is_first: bool,
        flagged: Collection[str] = (),
        kind: PinKind = "tool",
    ) -> dict[str, Pin]:
        """Compare a list with the pins, store new pins, and return the pins of the list.

        With `is_first` the list is trusted, except for the `flagged` definitions.
        """
        stored = self.of(server, kind)
        pins: dict[str, Pin] = {}
        fresh: list[Pin] = []
        for definition in definitions:
            name = pin_name(definition, kind)
            old = pins.get(name) or stored.get(name)
            trusts = (is_first or kind == "resource") and name not in flagged
            pin = _compared(old, definition, name, kind, trusts=trusts)
            if name in flagged and pin.state == "new":
                pin = replace(pin, state="flagged")
            if pin != old:
                fresh.append(pin)
            pins[name] = pin
        self._keep(server, {pin.name: pin for pin in fresh}.values(), is_first=is_first, kind=kind)
        return pins

    def approve(self, server: str, pins: Sequence[Pin]) -> None:
        """Trust waiting definitions; raises NotFoundError if one has changed since it was shown."""
        for pin in pins:
            trusted = Pin(
                pin.name, pin.waiting, "", pin.waiting_definition, "", "trusted", pin.kind
            )
            same = Compare("waiting", "=", pin.waiting)
            try:
                self._table.put(self._item(server, trusted), when=same)
            except ConditionFailedError as error:
                raise NotFoundError(
                    f"the {pin.kind} '{pin.name}' has changed again; look at it once more"
                ) from error

    def _keep(self, server: str, pins: Collection[Pin], *, is_first: bool, kind: PinKind) -> None:
        writes = [Put(self._item(server, pin)) for pin in pins]
        for start in range(0, len(writes), _AT_ONCE):
            self._table.transact(writes[start : start + _AT_ONCE])
        if is_first:
            names: Item = {"pk": f"PIN#{self._scope}", "sk": server, SCHEMA: _SCHEMA_1}
            first: Item = {"pk": self._partition(server), "sk": _baseline(kind), SCHEMA: _SCHEMA_1}
            try:
                self._table.transact([Put(first, Absent()), Put(names)])
            except ConditionFailedError:
                return

    def _item(self, server: str, pin: Pin) -> Item:
        return {
            "pk": self._partition(server),
            "sk": _prefix(pin.kind)
            + (pin.name if len(pin.name) <= _MAX_NAME else digest(pin.name)),
            SCHEMA: _SCHEMA_1,
            "kind": pin.kind,
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


def _compared(
    pin: Pin | None,
    definition: Mapping[str, Any],
    name: str,
    kind: PinKind,
    *,
    trusts: bool,
) -> Pin:
    """Return the pin of something after it was listed with this definition."""
    now = fingerprint(definition, kind)
    if pin is not None and pin.trusted == now:
        return Pin(name, now, "", pin.trusted_definition, "", "trusted", kind)
    if pin is not None and pin.waiting == now:
        return pin
    text = canonical(_pinned(definition, kind)).decode("utf-8", "replace")
    stored_text = text if len(text.encode()) <= _KEPT_BYTES else ""
    if pin is None and trusts:
        return Pin(name, now, "", stored_text, "", "trusted", kind)
    if pin is None or not pin.trusted:
        return Pin(name, "", now, "", stored_text, "new", kind)
    return Pin(name, pin.trusted, now, pin.trusted_definition, stored_text, "changed", kind)


def _prefix(kind: PinKind) -> str:
    return f"{kind.upper()}#"


def _baseline(kind: PinKind) -> str:
    return _BASELINE if kind == "tool" else f"{_BASELINE}#{kind}"


def _pinned(definition: Mapping[str, Any], kind: PinKind) -> dict[str, Any]:
    return {name: definition[name] for name in _PINNED[kind] if name in definition}


def _pin(item: Item) -> Pin:
    state: Any = item["state"]
    kind: Any = item.get("kind", "tool")
    return Pin(
        str(item["name"]),
        str(item["trusted"]),
        str(item["waiting"]),
        str(item["trusted_definition"]),
        str(item["waiting_definition"]),
        state,
        kind,
    )


def _readable(definition: str) -> str:
    if not definition:
        return ""
    return json.dumps(json.loads(definition), indent=2, ensure_ascii=True) + "\n"
