"""The text of a client's file, before and after one of its servers is wrapped."""

from collections.abc import Iterator, Mapping

from nacre.core.errors import ConfigurationError, InvalidInputError
from nacre.core.lazy_dataclasses import dataclass
from nacre.firewall.wrap.client_formats import Client, Shape
from nacre.firewall.wrap.command_line import Launcher, ProxyCommand, parse_proxy
from nacre.firewall.wrap.config_tree import (
    Dialect,
    Node,
    Value,
    apply_edits,
    check_keys,
    content_except,
    edits_between,
    single_member,
    value_of,
)
from nacre.firewall.wrap.json_tree import Json
from nacre.firewall.wrap.proxied_entry import (
    command_line,
    is_built_in,
    is_ours,
    proxy_of,
    unwrap_entry,
    wrap_entry,
)
from nacre.firewall.wrap.toml_tree import Toml
from nacre.firewall.wrap.yaml_tree import Yaml

DIALECTS: Mapping[str, Dialect] = {"json": Json(), "yaml": Yaml(), "toml": Toml()}

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Server:
    """One of a client's servers, with the proxy in front of it, if there is one.

    `is_ours` means that the entry starts or calls Nacre itself, and `is_built_in` that the
    client starts the server without a command or a URL in the file.
    """

    path: Path
    proxy: ProxyCommand | None
    is_ours: bool
    is_built_in: bool
    address: str = ""  # the command or URL, which distinguishes servers of the same name

    @property
    def name(self) -> str:
        """Return the server's name."""
        return self.path[-1]


@dataclass(frozen=True, slots=True)
class Change:
    """A new text of a file, with the old and the new text of the changed part."""

    text: str
    old: str
    new: str
    before: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Entry:
    """A server's entry: the keys that lead to it, the last of which is its name.

    `start` is the position of that key, or of the entry if it has no key.
    """

    path: tuple[str, ...]
    node: Node
    start: int

    @property
    def name(self) -> str:
        """Return the server's name."""
        return self.path[-1]


def entries(root: Node, client: Client) -> Iterator[Entry]:
    """Yield the entries of a client's servers, in the order of the file."""
    for container in client.containers:
        for path, node in _containers(root, container, ()):
            yield from _servers(path, node)


def find_entry(root: Node, client: Client, path: tuple[str, ...]) -> Entry | None:
    """Return the entry at a path, or None; raise ConfigurationError if there are two."""
    matching = [entry for entry in entries(root, client) if entry.path == path]
    if len(matching) > 1:
        raise ConfigurationError(f"'{path[-1]}' is there twice; remove one of them")
    for container in client.containers:
        _check_single(root, container, path)
    return matching[0] if matching else None


def _containers(
    node: Node, keys: tuple[str, ...], path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Node]]:
    if not keys:
        yield path, node
        return
    for member in node.members or ():
        if keys[0] in ("*", member.key):
            yield from _containers(member.node, keys[1:], (*path, member.key))


def _servers(path: tuple[str, ...], node: Node) -> Iterator[Entry]:
    for member in node.members or ():
        if member.node.members is not None or member.node.uneditable:
            yield Entry((*path, member.key), member.node, member.start)
    for item in node.items or ():  # Continue's list, in which each item has its own name
        value = value_of(item)
        name = value.get("name") if isinstance(value, dict) else None
        if isinstance(name, str):
            yield Entry((*path, name), item, item.start)


def _check_single(root: Node, container: tuple[str, ...], path: tuple[str, ...]) -> None:
    """Raise ConfigurationError if a key on the path occurs twice, because readers differ then."""
    node = root
    for pattern, key in zip(container, path, strict=False):
        if pattern not in ("*", key):
            return
        member = single_member(node, key)
        if member is None:
            return
        node = member.node


def servers(text: str, client: Client) -> list[Server]:
    """Return a client's servers; raise ConfigurationError if the text cannot be read."""
    root = DIALECTS[client.format].parse(text, client.containers)
    shape = client.shape
    result = []
    for entry in entries(root, client):
        value = value_of(entry.node)
        members = value if isinstance(value, dict) else {}
        result.append(
            Server(
                entry.path,
                proxy_of(members, shape),
                is_ours(entry.name, members, shape),
                is_built_in(members, shape),
                address_of(members, shape),
            )
        )
    return result


def wrap_text(text: str, client: Client, path: Path, launcher: Launcher, name: str = "") -> Change:
    """Return the text with the proxy in front of a server; raise InvalidInputError if it cannot be.

    `name` is the server's name in rules; if it is empty, the name of the entry is used.
    """
    dialect = DIALECTS[client.format]
    entry, before = _read_entry(dialect, text, client, path)
    new = wrap_entry(before, client.shape, name or entry.name, launcher)
    return _changed(dialect, text, client, entry, new)


def entry_text(text: str, client: Client, path: Path) -> str:
    """Return the text of an entry, as `restored_text` can put it back."""
    dialect = DIALECTS[client.format]
    entry, _ = _read_entry(dialect, text, client, path)
    start, end = _extent(dialect, text, entry)
    return text[start:end]


def restored_text(text: str, client: Client, path: Path, old: str, new: str) -> str | None:
    """Return the text with the old entry, byte for byte, or None if it was changed since."""
    dialect = DIALECTS[client.format]
    entry, _ = _read_entry(dialect, text, client, path)
    start, end = _extent(dialect, text, entry)
    for stop in {end, entry.node.end}:  # with or without its subtables
        if text[start:stop] == new:
            return text[:start] + old + text[stop:]
    return None


def unwrap_text(
    text: str, client: Client, path: Path, before: Mapping[str, Value] | None
) -> Change:
    """Return the text without the proxy; later changes of the entry stay."""
    dialect = DIALECTS[client.format]
    entry, members = _read_entry(dialect, text, client, path)
    proxy = proxy_of(members, client.shape)
    if proxy is None:
        raise InvalidInputError("it is not wrapped")
    new = unwrap_entry(members, client.shape, proxy, before)
    return _changed(dialect, text, client, entry, new)


def address_of(entry: Mapping[str, Value], shape: Shape) -> str:
    """Return the command or URL of an entry's server, or nothing if it cannot be read."""
    try:
        line = command_line(entry, shape) or []
    except InvalidInputError:
        return ""
    proxy = parse_proxy(line)
    if proxy is None:
        return " ".join(line) or " ".join(str(entry[key]) for key in shape.urls_in(entry))
    return " ".join(proxy.inner) if proxy.inner is not None else proxy.first("--url")


def _read_entry(
    dialect: Dialect, text: str, client: Client, path: Path
) -> tuple[Entry, dict[str, Value]]:
    entry = find_entry(dialect.parse(text, client.containers), client, path)
    if entry is None:
        raise ConfigurationError(f"'{path[-1]}' is no longer there")
    if entry.node.uneditable:
        raise ConfigurationError(entry.node.uneditable)
    check_keys(entry.node)
    value = value_of(entry.node)
    return entry, value if isinstance(value, dict) else {}


def _extent(dialect: Dialect, text: str, entry: Entry) -> tuple[int, int]:
    """Return the start and end of an entry, or of its main part if it is scattered."""
    try:
        return dialect.extent(text, entry.node)
    except ConfigurationError:
        return entry.node.start, entry.node.end


def _changed(
    dialect: Dialect, text: str, client: Client, entry: Entry, new: Mapping[str, Value]
) -> Change:
    edits = edits_between(dialect, text, entry.node, new)
    changed = apply_edits(text, edits)
    _check(dialect, text, changed, client, entry, new)
    start, end = entry.node.start, entry.node.end
    if any(stop > end for _, stop, _ in edits):
        start, end = dialect.extent(text, entry.node)
    grown = len(changed) - len(text)
    before = value_of(entry.node)
    return Change(
        changed,
        text[start:end],
        changed[start : end + grown],
        before if isinstance(before, dict) else {},
    )


def _check(
    dialect: Dialect,
    text: str,
    changed: str,
    client: Client,
    entry: Entry,
    new: Mapping[str, Value],
) -> None:
    """Raise ConfigurationError unless the new text changes the entry to `new`, and nothing else.

    This protects files whose unusual formatting an edit could break.
    """
    before = dialect.parse(text, client.containers)
    after = dialect.parse(changed, client.containers)
    old_entry = find_entry(before, client, entry.path)
    new_entry = find_entry(after, client, entry.path)
    if (
        old_entry is None
        or new_entry is None
        or value_of(new_entry.node) != new
        or content_except(after, new_entry.node) != content_except(before, old_entry.node)
    ):
        raise ConfigurationError("its entry is written in a way that cannot be edited safely")
