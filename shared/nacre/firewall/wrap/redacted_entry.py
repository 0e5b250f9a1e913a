"""The text of a client's entry for display, with possible keys hidden."""

import re
from collections.abc import Iterator

from nacre.firewall.content.secrets import looks_random, names_secret, redact_text
from nacre.firewall.rules.sections import SecretsSection
from nacre.firewall.wrap.client_formats import Client
from nacre.firewall.wrap.config_tree import Edit, Node, apply_edits
from nacre.firewall.wrap.file_edit import DIALECTS, Path, find_entry
from nacre.firewall.wrap.proxied_url import may_hold_secret

_HIDDEN = "…"
_INDENTS = " \t-"
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")


def shown_entry(text: str, client: Client, path: Path) -> str:
    """Return the lines of a server's entry; raise ConfigurationError if it cannot be read."""
    dialect = DIALECTS[client.format]
    redacted = apply_edits(text, _edits(text, client, path))
    entry = find_entry(dialect.parse(redacted, client.containers), client, path)
    if entry is None:
        return ""
    line = redacted.rfind("\n", 0, entry.node.start) + 1
    if entry.start > line and redacted[line : entry.start].strip(_INDENTS):
        line = entry.start  # the text before it belongs to another server
    return redacted[line : entry.node.end]


def _edits(text: str, client: Client, path: Path) -> Iterator[Edit]:
    dialect = DIALECTS[client.format]
    entry = find_entry(dialect.parse(text, client.containers), client, path)
    if entry is None:
        return
    for node, is_secret in _texts(entry.node, {client.shape.env, *client.shape.headers}):
        if is_secret or _may_be_key(str(node.scalar)):
            yield dialect.replace_scalar(node, _HIDDEN)


def _texts(
    node: Node, secret_keys: set[str], *, secret: bool = False
) -> Iterator[tuple[Node, bool]]:
    """Yield every text, with True if its key or the item before it names a secret."""
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
