"""The servers in a client's file: where each stands, and the one of a path."""

from collections.abc import Iterator
from dataclasses import dataclass

from nacre.core.errors import ConfigurationError
from nacre.firewall.wrap.client_formats import Client
from nacre.firewall.wrap.config_tree import Node, only, value_of


@dataclass(frozen=True, slots=True)
class Place:
    """A server's entry: the keys that lead to it, the last of which is its name.

    It begins at `start`: with that key, where it has one.
    """

    path: tuple[str, ...]
    node: Node
    start: int

    @property
    def name(self) -> str:
        """Return the server's name."""
        return self.path[-1]


def places(root: Node, client: Client) -> Iterator[Place]:
    """Yield a client's servers in the order of its file."""
    for container in client.containers:
        for path, node in _containers(root, container, ()):
            yield from _servers(path, node)


def place(root: Node, client: Client, path: tuple[str, ...]) -> Place | None:
    """Return the server of a path; ConfigurationError where two have it."""
    found = [each for each in places(root, client) if each.path == path]
    if len(found) > 1:
        raise ConfigurationError(f"'{path[-1]}' stands there twice; remove one of them")
    for container in client.containers:
        _check_single(root, container, path)
    return found[0] if found else None


def _containers(
    node: Node, keys: tuple[str, ...], path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Node]]:
    if not keys:
        yield path, node
        return
    for member in node.members or ():
        if keys[0] in ("*", member.key):
            yield from _containers(member.node, keys[1:], (*path, member.key))


def _servers(path: tuple[str, ...], node: Node) -> Iterator[Place]:
    for member in node.members or ():
        if member.node.members is not None or member.node.fixed:
            yield Place((*path, member.key), member.node, member.start)
    for item in node.items or ():  # Continue's list, by what each calls itself
        value = value_of(item)
        name = value.get("name") if isinstance(value, dict) else None
        if isinstance(name, str):
            yield Place((*path, name), item, item.start)


def _check_single(root: Node, container: tuple[str, ...], path: tuple[str, ...]) -> None:
    """Raise ConfigurationError where a key on the way stands twice: readers differ then."""
    node = root
    for wanted, key in zip(container, path, strict=False):
        if wanted not in ("*", key):
            return
        member = only(node, key)
        if member is None:
            return
        node = member.node
