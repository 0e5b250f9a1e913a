"""What a rule is about, as sets of texts: server, name, and the places of its arguments."""

from dataclasses import dataclass, replace

from nacre.firewall.analysis.glob_sets import covers, overlap
from nacre.firewall.rules.rule import ArgumentTest, Kind, Rule, Wanted

_QUALIFIED = "mcp__"


@dataclass(frozen=True, slots=True)
class Scope:
    """The calls a rule is about, whatever their arguments."""

    kind: Kind | None
    server: tuple[str, ...]
    name: str

    @classmethod
    def of(cls, rule: Rule) -> "Scope":
        """Return the scope of a rule; a qualified name says its server as well."""
        server = (rule.server,) if rule.server is not None else ()
        name = rule.name
        if name.startswith(_QUALIFIED) and rule.kind != "method":
            owner, separator, tool = name.removeprefix(_QUALIFIED).partition("__")
            if separator:
                return cls("tool", (*server, owner), tool)
            return cls("tool", server, "**")
        return cls(rule.kind, server, name)

    def covers(self, other: "Scope") -> bool:
        """Tell whether every call of the other scope is one of this."""
        if self.kind is not None and self.kind != other.kind:
            return False
        servers = all(
            any(covers([mine], [theirs]) for theirs in other.server or ("**",))
            for mine in self.server
        )
        return servers and covers([self.name], [other.name])

    def overlaps(self, other: "Scope") -> bool:
        """Tell whether a call can be of both."""
        if self.kind is not None and other.kind is not None and self.kind != other.kind:
            return False
        servers = all(overlap([mine], [theirs]) for mine in self.server for theirs in other.server)
        return servers and overlap([self.name], [other.name])


def globs_of(test: ArgumentTest) -> list[str]:
    """Return the globs of a test."""
    return [each for each in test.wanted if isinstance(each, str)]


def implies(narrow: ArgumentTest, wide: ArgumentTest) -> bool:
    """Tell whether whatever fulfils one test fulfils the other at the same place."""
    if narrow == replace(wide, optional=narrow.optional and wide.optional):
        return True
    if narrow.keys != wide.keys or not (_is_plain(narrow) and _is_plain(wide)):
        return False
    exact = {(type(each), each) for each in wide.wanted}
    return all(
        (type(each), each) in exact
        or (bool(globs_of(wide)) and covers(globs_of(wide), [text(each)]))
        for each in narrow.wanted
    )


def _is_plain(test: ArgumentTest) -> bool:
    return test.matcher is None and not test.ignores_case and not test.optional


def text(wanted: Wanted) -> str:
    """Return the JSON text of what a test wants, or its glob."""
    if isinstance(wanted, str):
        return wanted
    if isinstance(wanted, bool):
        return "true" if wanted else "false"
    return repr(wanted)
