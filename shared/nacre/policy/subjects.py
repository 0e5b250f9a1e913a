"""Which calls a rule is about: its server, and its tool or method."""

import unicodedata

from nacre.policy.glob import is_literal, matches
from nacre.policy.rule import Kind, Rule

# The first part of every method's name. A tool that is named like a method is not one.
METHOD_FAMILIES = frozenset(
    "completion elicitation logging notifications prompts resources roots sampling server"
    " tasks tools".split()
)
_QUALIFIED = "mcp__"


def kind_of(name: str) -> Kind | None:
    """Return what a glob over names is about, where it cannot be both."""
    family, slash, _ = name.partition("/")
    return "method" if slash and is_literal(family) and family in METHOD_FAMILIES else None


def is_about(rule: Rule, kind: Kind, name: str, server: str) -> bool:
    """Tell whether the rule is about calls of this name, whatever their arguments."""
    if rule.kind is not None and rule.kind != kind:
        return False
    strict = rule.action == "allow"
    if rule.server is not None and not matches(rule.server, server):
        return False
    if kind == "method":
        return matches(rule.name, name)
    if rule.name.startswith(_QUALIFIED):
        return _is_qualified(rule.name, name, server, strict=strict)
    return matches(rule.name, name) or (not strict and matches(rule.name, plain(name)))


def plain(name: str) -> str:
    """Return a tool's name as somebody reads it: compatible characters, none invisible."""
    if name.isascii():
        return name
    folded = unicodedata.normalize("NFKC", name)
    return "".join(each for each in folded if unicodedata.category(each) != "Cf")


def _is_qualified(pattern: str, name: str, server: str, *, strict: bool) -> bool:
    """Compare with `mcp__server__tool`.

    An allow takes the server's part up to the first `__`, so that a tool cannot lend
    itself another server's name.
    """
    whole = matches(pattern, f"{_QUALIFIED}{server}__{name}")
    if not strict:
        return whole or matches(pattern, name) or matches(pattern, plain(name))
    owner, separator, tool = pattern.removeprefix(_QUALIFIED).partition("__")
    if not separator:
        return whole
    return matches(owner, server) and matches(tool, name)
