"""A policy: ordered rules, of which the first that matches decides. Without one, deny.

`RuleNames` finds the rules by the server and the name of a call, without its arguments.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from nacre.core.bounded_cache import BoundedCache
from nacre.core.errors import UnknownProfileError
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.core.own_server_name import OWN
from nacre.firewall.rules.globs.glob import PrefixIndex, is_literal
from nacre.firewall.rules.globs.matching import matches
from nacre.firewall.rules.rule import NOWHERE, Decision, Kind, Rule, Subject, Surroundings
from nacre.firewall.rules.sections import InjectionSection, SecretsSection, Settings

if TYPE_CHECKING:
    from nacre.firewall.rules.evaluate import Engine
    from nacre.firewall.rules.limit import Limit
    from nacre.firewall.rules.profile import Profile

# The first part of every method's name. A tool that is named like a method is not one.
METHOD_FAMILIES = frozenset(
    (
        *("completion", "elicitation", "logging", "notifications", "prompts", "resources"),
        *("roots", "sampling", "server", "tasks", "tools"),
    )
)
_QUALIFIED = "mcp__"


class RuleNames:
    """The rules of a policy, found by the names of calls."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = rules
        self._index = PrefixIndex([(position, (rule.name,)) for position, rule in enumerate(rules)])

    def positions(self, kind: Kind, name: str, server: str) -> tuple[int, ...]:
        """Return the positions of the rules about calls of this name, in order."""
        likely = sorted(self._index.find(spellings_of_name(kind, name, server)))
        return tuple(
            [position for position in likely if is_about(self._rules[position], kind, name, server)]
        )

    def may_pass(self, kind: Kind, name: str, server: str) -> bool:
        """Tell whether a call of this name could be allowed or asked about with some arguments."""
        if not is_well_formed(Subject(kind, name, server, {})):
            return False
        for position in self.positions(kind, name, server):
            if self._rules[position].action != "deny":
                return True
            if self._rules[position].is_unconditional:
                return False
        return False


def kind_of(name: str) -> Kind | None:
    """Return the kind that a glob over names is about, or None if it may be both."""
    family, slash, _ = name.partition("/")
    return "method" if slash and is_literal(family) and family in METHOD_FAMILIES else None


def spellings_of_name(kind: Kind, name: str, server: str) -> tuple[str, ...]:
    """Return every text of a call's name that a rule's name may match."""
    if kind == "method":
        return (name,)
    return tuple(dict.fromkeys([name, plain(name), f"{_QUALIFIED}{server}__{name}"]))


def is_about(rule: Rule, kind: Kind, name: str, server: str) -> bool:
    """Tell whether the rule is about calls of this name, regardless of their arguments.

    A name in an allow must match exactly, and in `mcp__server__tool` the server ends at
    the first `__`: no tool can pass for a tool of another server.
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


def names_tool(policy: "Policy", decision: Decision) -> bool:
    """Tell whether the rule of a decision names its tool, by more than wildcards."""
    for rule in policy.rules:
        if rule.number == decision.rule:
            tool = rule.name
            if tool.startswith(_QUALIFIED):
                tool = tool.removeprefix(_QUALIFIED).partition("__")[2]
            return any(letter.isalnum() for letter in tool)
    return False


def asking_rule(policy: "Policy", subject: Subject, decision: Decision) -> str | None:
    """Return the name of the rule that asks about a call of another server's tool, or None."""
    if subject.kind != "tool" or subject.server == OWN:
        return None
    asking = (rule for rule in policy.rules if rule.action == "prompt")
    return next((rule.origin for rule in asking if rule.number == decision.rule), None)


def plain(name: str) -> str:
    """Return a tool's name as a person reads it: compatible characters, none invisible."""
    if name.isascii():
        return name
    folded = unicodedata.normalize("NFKC", name)
    return "".join(letter for letter in folded if unicodedata.category(letter) != "Cf")


def is_well_formed(subject: Subject) -> bool:
    """Tell whether a call can be decided: its name is a text and its arguments are named."""
    name: object = subject.name  # both come from a message, whatever their types say
    arguments: object = subject.arguments
    if not isinstance(name, str) or not name:
        return False
    if type(arguments) is not dict and not isinstance(arguments, Mapping):
        return False
    return "\0" not in name and (name.isascii() or not _has_surrogate(name))


def _has_surrogate(name: str) -> bool:
    return any("\ud800" <= letter <= "\udfff" for letter in name)


MAX_ENGINES = 64  # one for each place where servers run


@dataclass(frozen=True, slots=True)
class Policy:
    """One policy. `digest` depends on its meaning only, not on comments and blanks.

    The policy that decides in a profile has its `servers`; the text of a decision names no other.
    """

    digest: str
    source: str
    rules: tuple[Rule, ...]
    injection: InjectionSection = field(default_factory=InjectionSection)
    secrets: SecretsSection = field(default_factory=SecretsSection)
    settings: Settings = field(default_factory=Settings)
    limits: "tuple[Limit, ...]" = ()
    profiles: "tuple[Profile, ...]" = ()
    servers: tuple[str, ...] | None = None
    _engines: "BoundedCache[Surroundings, Engine]" = field(
        default_factory=lambda: BoundedCache(MAX_ENGINES), init=False, repr=False, compare=False
    )

    def profile(self, name: str) -> "Profile":
        """Return a profile; raises UnknownProfileError."""
        for profile in self.profiles:
            if profile.name == name:
                return profile
        raise UnknownProfileError

    @property
    def has_windows(self) -> bool:
        """True if a rule, also of a profile, counts what any client of the Being has received."""
        policies = (self, *(profile.policy for profile in self.profiles))
        return any(rule.window is not None for policy in policies for rule in policy.rules)

    def decide(self, subject: Subject, where: Surroundings = NOWHERE) -> Decision:
        """Return the decision about a call to a server at `where`."""
        return (self._engines.get(where) or self.engine(where)).decide(subject)

    def engine(self, where: Surroundings = NOWHERE) -> "Engine":
        """Return the compiled rules for servers at `where`, cached."""
        engine = self._engines.get(where)
        if engine is None:
            # A list of tools is decided by names alone, and does not wait for what reads arguments.
            from nacre.firewall.rules.evaluate import Engine  # noqa: PLC0415

            engine = Engine(self.rules, where, self.servers)
            self._engines[where] = engine
        return engine
