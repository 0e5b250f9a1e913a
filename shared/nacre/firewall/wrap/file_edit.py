"""A client's file before and after one of its servers is wrapped: text to text."""

from collections.abc import Mapping
from dataclasses import dataclass

from nacre.core.errors import ConfigurationError, InvalidInputError
from nacre.firewall.wrap.client_entries import Place, place, places
from nacre.firewall.wrap.client_formats import Client, Shape
from nacre.firewall.wrap.command_line import Launcher, Proxied, read_line
from nacre.firewall.wrap.config_tree import (
    Dialect,
    Value,
    check_keys,
    edited,
    edits_between,
    shape_of,
    value_of,
)
from nacre.firewall.wrap.json_tree import Json
from nacre.firewall.wrap.proxied_entry import (
    command_line,
    is_built_in,
    is_ours,
    proxied,
    unwrapped,
    wrapped,
)
from nacre.firewall.wrap.toml_tree import Toml
from nacre.firewall.wrap.yaml_tree import Yaml

DIALECTS: Mapping[str, Dialect] = {"json": Json(), "yaml": Yaml(), "toml": Toml()}

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Server:
    """One of a client's servers; `proxy` is what stands before it, if anything does.

    One that `is_ours` starts or calls Nacre itself; one that `is_built_in` is started by its
    client, which does not say how.
    """

    path: Path
    proxy: Proxied | None
    is_ours: bool
    is_built_in: bool
    # What it runs or calls, to tell two servers of one name apart; "" where nobody knows.
    what: str = ""

    @property
    def name(self) -> str:
        """Return the server's name."""
        return self.path[-1]


@dataclass(frozen=True, slots=True)
class Change:
    """A new text, and what stood and stands in the one place where it differs."""

    text: str
    old: str
    new: str
    before: Mapping[str, Value]


def servers(text: str, client: Client) -> list[Server]:
    """Return a client's servers; ConfigurationError for a text that cannot be read."""
    root = DIALECTS[client.format].parse(text, client.containers)
    found = []
    for each in places(root, client):
        value = value_of(each.node)
        entry = value if isinstance(value, dict) else {}
        shape = client.shape
        found.append(
            Server(
                each.path,
                proxied(entry, shape),
                is_ours(each.name, entry, shape),
                is_built_in(entry, shape),
                _what(entry, shape),
            )
        )
    return found


def wrap_text(text: str, client: Client, path: Path, launcher: Launcher, name: str = "") -> Change:
    """Return the text with the proxy before a server; InvalidInputError says why not.

    `name` is what rules call the server, its own name where it is empty.
    """
    dialect = DIALECTS[client.format]
    found, before = _entry(dialect, text, client, path)
    new = wrapped(before, client.shape, name or found.name, launcher)
    return _changed(dialect, text, client, found, new)


def entry_text(text: str, client: Client, path: Path) -> str:
    """Return what an entry says, as `restored_text` puts it back."""
    dialect = DIALECTS[client.format]
    found, _ = _entry(dialect, text, client, path)
    start, end = _extent(dialect, text, found)
    return text[start:end]


def restored_text(text: str, client: Client, path: Path, old: str, new: str) -> str | None:
    """Return the text with what stood there, byte for byte; None where it was changed since."""
    dialect = DIALECTS[client.format]
    found, _ = _entry(dialect, text, client, path)
    start, end = _extent(dialect, text, found)
    for stop in {end, found.node.end}:  # a table alone, or with what stands below it
        if text[start:stop] == new:
            return text[:start] + old + text[stop:]
    return None


def unwrap_text(
    text: str, client: Client, path: Path, before: Mapping[str, Value] | None
) -> Change:
    """Return the text without the proxy, with whatever else was changed in the entry since."""
    dialect = DIALECTS[client.format]
    found, entry = _entry(dialect, text, client, path)
    proxy = proxied(entry, client.shape)
    if proxy is None:
        raise InvalidInputError("it is not wrapped")
    new = unwrapped(entry, client.shape, proxy, before)
    return _changed(dialect, text, client, found, new)


def _what(entry: Mapping[str, Value], shape: Shape) -> str:
    """Return what an entry runs or calls, with or without a proxy before it."""
    try:
        line = command_line(entry, shape) or []
    except InvalidInputError:
        return ""
    proxy = read_line(line)
    if proxy is None:
        return " ".join(line) or " ".join(str(entry[key]) for key in shape.urls_in(entry))
    return " ".join(proxy.inner) if proxy.inner is not None else proxy.first("--url")


def _entry(
    dialect: Dialect, text: str, client: Client, path: Path
) -> tuple[Place, dict[str, Value]]:
    found = place(dialect.parse(text, client.containers), client, path)
    if found is None:
        raise ConfigurationError(f"'{path[-1]}' is no longer there")
    if found.node.fixed:
        raise ConfigurationError(found.node.fixed)
    check_keys(found.node)
    value = value_of(found.node)
    return found, value if isinstance(value, dict) else {}


def _extent(dialect: Dialect, text: str, found: Place) -> tuple[int, int]:
    """Return where all of an entry stands; where it is scattered, its main part."""
    try:
        return dialect.extent(text, found.node)
    except ConfigurationError:
        return found.node.start, found.node.end


def _changed(
    dialect: Dialect, text: str, client: Client, found: Place, new: Mapping[str, Value]
) -> Change:
    edits = edits_between(dialect, text, found.node, new)
    changed = edited(text, edits)
    _check(dialect, text, changed, client, found, new)
    start, end = found.node.start, found.node.end
    if any(stop > end for _, stop, _ in edits):
        start, end = dialect.extent(text, found.node)
    grown = len(changed) - len(text)
    before = value_of(found.node)
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
    found: Place,
    new: Mapping[str, Value],
) -> None:
    """Raise ConfigurationError unless the new text says just what it is to say.

    An edit of a file that is written in a way nobody thought of must not break it.
    """
    after = dialect.parse(changed, client.containers)
    there = place(after, client, found.path)
    before = dialect.parse(text, client.containers)
    here = place(before, client, found.path)
    if (
        there is None
        or here is None
        or value_of(there.node) != new
        or shape_of(after, there.node) != shape_of(before, here.node)
    ):
        raise ConfigurationError("its entry is written in a way that cannot be edited safely")
