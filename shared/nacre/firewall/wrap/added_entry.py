"""The text of a client's file with a new entry, and without an entry."""

from collections.abc import Mapping

from nacre.core.errors import ConfigurationError
from nacre.core.lazy_dataclasses import dataclass
from nacre.firewall.wrap.client_formats import Client
from nacre.firewall.wrap.config_tree import (
    Dialect,
    Node,
    RawValue,
    Value,
    apply_edits,
    check_keys,
    value_of,
)
from nacre.firewall.wrap.file_edit import DIALECTS, Path, find_entry

_UNSAFE = "it is written in a way that cannot be edited safely"


@dataclass(frozen=True, slots=True)
class Addition:
    """A text with a new entry, and the part of it that is new."""

    text: str
    added: str


def with_entry(text: str, client: Client, path: Path, entry: Mapping[str, Value]) -> Addition:
    """Return the text with a new entry; raise ConfigurationError if it cannot be added safely."""
    dialect = DIALECTS[client.format]
    before = _read(dialect, text, client)
    edit = dialect.insertion(text, before, path, dict(entry))
    changed = apply_edits(text, [edit])
    after = _changed(dialect, changed, client)
    new_entry = None if after is None else find_entry(after, client, path)
    if (
        after is None
        or new_entry is None
        or value_of(new_entry.node) != dict(entry)
        or _without(_value(after), path) != _without(_value(before), ())
    ):
        raise ConfigurationError(_UNSAFE)
    return Addition(changed, edit[2])


def without_entry(text: str, client: Client, path: Path, added: str = "") -> str:
    """Return the text without an entry: byte for byte if what was added is still there."""
    dialect = DIALECTS[client.format]
    before = _read(dialect, text, client)
    remaining = _without(_value(before), path)

    def is_removed(changed: str) -> bool:
        after = _changed(dialect, changed, client)
        return after is not None and _without(_value(after), ()) == remaining

    if added and text.count(added) == 1 and is_removed(restored := text.replace(added, "")):
        return restored
    changed = apply_edits(text, [dialect.removal(text, before, path)])
    if not is_removed(changed):
        raise ConfigurationError(_UNSAFE)
    return changed


def _changed(dialect: Dialect, text: str, client: Client) -> Node | None:
    """Return the tree of a changed text, or None if the change has broken it."""
    try:
        return _parsed(dialect, text, client)
    except ConfigurationError:
        return None


def _read(dialect: Dialect, text: str, client: Client) -> Node:
    root = _parsed(dialect, text, client)
    check_keys(root)
    return root


def _parsed(dialect: Dialect, text: str, client: Client) -> Node:
    if not text.removeprefix("\ufeff").strip():
        return Node(len(text), len(text), members=())
    root = dialect.parse(text, client.containers)
    if root.scalar == RawValue(""):  # YAML with nothing but comments
        return Node(len(text), len(text), members=())
    if root.members is None:
        raise ConfigurationError("its content is not a map of settings")
    return root


def _value(node: Node) -> dict[str, Value]:
    value = value_of(node)
    return value if isinstance(value, dict) else {}


def _without(value: Value, path: Path) -> Value:
    """Return a value without the entry at a path, and without maps that are empty then."""
    if not isinstance(value, dict):
        return value
    rest = {
        key: _without(item, path[1:] if path and key == path[0] else ())
        for key, item in value.items()
        if path != (key,)
    }
    return {key: item for key, item in rest.items() if item != {}}
