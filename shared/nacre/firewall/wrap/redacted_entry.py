"""A client's entry as a screen may show it: without what could be a key."""

import re
from collections.abc import Iterator

from nacre.firewall.content.secrets import looks_random, names_secret, redact_text
from nacre.firewall.rules.sections import SecretsSection
from nacre.firewall.wrap.client_entries import place
from nacre.firewall.wrap.client_formats import Client
from nacre.firewall.wrap.config_tree import Edit, Node, edited
from nacre.firewall.wrap.file_edit import DIALECTS, Path
from nacre.firewall.wrap.proxied_url import may_hold_secret

_HIDDEN = "…"
_INDENTS = " \t-"
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")


def shown_entry(text: str, client: Client, path: Path) -> str:
    """Return the lines of a server's entry; ConfigurationError for a text that cannot be read."""
    dialect = DIALECTS[client.format]
    edits = list(_edits(text, client, path))
    shown = edited(text, edits)
    found = place(dialect.parse(shown, client.containers), client, path)
    if found is None:
        return ""
    start, end = found.node.start, found.node.end
    line = shown.rfind("\n", 0, start) + 1
    if found.start > line and shown[line : found.start].strip(_INDENTS):
        line = found.start  # what stands before it is another server's
    return shown[line:end]


def _edits(text: str, client: Client, path: Path) -> Iterator[Edit]:
    dialect = DIALECTS[client.format]
    found = place(dialect.parse(text, client.containers), client, path)
    if found is None:
        return
    for node, is_secret in _texts(found.node, {client.shape.env, *client.shape.headers}):
        if is_secret or _may_be_key(str(node.scalar)):
            yield dialect.scalar(node, _HIDDEN)


def _texts(
    node: Node, secret_keys: set[str], *, secret: bool = False
) -> Iterator[tuple[Node, bool]]:
    """Yield every text, and whether the key above it or the word before it names a secret."""
    named = False
    for item in node.items or ():
        yield from _texts(item, secret_keys, secret=secret or named)
        named = isinstance(item.scalar, str) and names_secret(item.scalar.lstrip("-"))
    for member in node.members or ():
        is_secret = member.key in secret_keys or names_secret(member.key)
        yield from _texts(member.node, secret_keys, secret=secret or is_secret)
    if node.items is None and node.members is None and isinstance(node.scalar, str):
        yield node, secret


def _may_be_key(text: str) -> bool:
    if "://" in text and may_hold_secret(text):
        return True
    after = text.rpartition("=")[2]
    is_random = looks_random(after) and "/" not in after and not _VARIABLE.fullmatch(after)
    return is_random or redact_text(text, SecretsSection())[1] > 0
