"""Which calls a rule is about: its server, and its tool or method."""

import unicodedata

from nacre.firewall.rules.globs.glob import is_literal
from nacre.firewall.rules.globs.matching import matches
from nacre.firewall.rules.rule import Kind, Rule

# The first part of every method's name. A tool that is named like a method is not one.
METHOD_FAMILIES = frozenset(
    (
        *("completion", "elicitation", "logging", "notifications", "prompts", "resources"),
        *("roots", "sampling", "server", "tasks", "tools"),
    )
)
_QUALIFIED = "mcp__"


def kind_of(name: str) -> Kind | None:
    """Return what a glob over names is about, where it cannot be both."""
    family, slash, _ = name.partition("/")
    return "method" if slash and is_literal(family) and family in METHOD_FAMILIES else None


def spellings_of_name(kind: Kind, name: str, server: str) -> tuple[str, ...]:
    """Return every text that a rule's name may match for calls of this one."""
    if kind == "method":
        return (name,)
    return tuple(dict.fromkeys([name, plain(name), f"{_QUALIFIED}{server}__{name}"]))


def is_about(rule: Rule, kind: Kind, name: str, server: str) -> bool:
    """Tell whether the rule is about calls of this name, whatever their arguments.

    A name in an allow is meant exactly, and `mcp__server__tool` names the server up to
    the first `__` behind it: no tool can lend itself another server's name.
    """
    if rule.kind is not None and rule.kind != kind:
        return False
    if rule.server is not None and not matches(rule.server, server):
        return False
    if kind == "method":
        return matches(rule.name, name)
    if rule.action != "allow" and (matches(rule.name, name) or matches(rule.name, plain(name))):
        return True
    if not rule.name.startswith(_QUALIFIED):
        return matches(rule.name, name)
    if rule.action != "allow":
        return matches(rule.name, f"{_QUALIFIED}{server}__{name}")
    owner, separator, tool = rule.name.removeprefix(_QUALIFIED).partition("__")
    if not separator:
        return matches(rule.name, f"{_QUALIFIED}{server}__{name}")
    return matches(owner, server) and matches(tool, name)


def plain(name: str) -> str:
    """Return a tool's name as somebody reads it: compatible characters, none invisible."""
    if name.isascii():
        return name
    folded = unicodedata.normalize("NFKC", name)
    return "".join(each for each in folded if unicodedata.category(each) != "Cf")
