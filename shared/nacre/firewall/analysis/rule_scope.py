"""The scope of a rule as sets of texts: kind, server and name; and which test implies which."""

from nacre.core.lazy_dataclasses import dataclass, replace
from nacre.firewall.analysis.glob_sets import covers, overlap
from nacre.firewall.rules.rule import ArgumentTest, Kind, Rule, Scalar

_QUALIFIED = "mcp__"


@dataclass(frozen=True, slots=True)
class Scope:
    """The calls that a rule is about, regardless of their arguments."""

    kind: Kind | None
    server: tuple[str, ...]
    name: str

    @classmethod
    def of(cls, rule: Rule) -> "Scope":
        """Return the scope of a rule; a qualified name includes its server."""
        server = (rule.server,) if rule.server is not None else ()
        name = rule.name
        if name.startswith(_QUALIFIED) and rule.kind != "method":
            owner, separator, tool = name.removeprefix(_QUALIFIED).partition("__")
            if separator:
                return cls("tool", (*server, owner), tool)
            return cls("tool", server, "**")
        return cls(rule.kind, server, name)

    def covers(self, narrow: "Scope") -> bool:
        """Tell whether this scope includes every call of the other."""
        if self.kind is not None and self.kind != narrow.kind:
            return False
        servers = all(
            any(covers([mine], [theirs]) for theirs in narrow.server or ("**",))
            for mine in self.server
        )
        return servers and covers([self.name], [narrow.name])

    def overlaps(self, second: "Scope") -> bool:
        """Tell whether a call can be in both scopes."""
        if self.kind is not None and second.kind is not None and self.kind != second.kind:
            return False
        servers = all(overlap([mine], [theirs]) for mine in self.server for theirs in second.server)
        return servers and overlap([self.name], [second.name])


def implies(narrow: ArgumentTest, wide: ArgumentTest) -> bool:
    """Tell whether every value that matches the narrow test matches the wide one too."""
    if narrow == replace(wide, optional=narrow.optional and wide.optional):
        return True
    if narrow.keys != wide.keys or not (_is_plain(narrow) and _is_plain(wide)):
        return False
    exact = {(type(value), value) for value in wide.values}
    return all(
        (type(value), value) in exact or (bool(wide.globs) and covers(wide.globs, [text(value)]))
        for value in narrow.values
    )


def _is_plain(test: ArgumentTest) -> bool:
    return test.matcher is None and not test.ignores_case and not test.optional


def text(value: Scalar) -> str:
    """Return the glob of a test, or the JSON text of its number or truth value."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value)
