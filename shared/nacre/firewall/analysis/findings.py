"""A finding of `lint`: one thing that looks wrong, and how to fix it."""

from collections.abc import Iterable
from typing import Literal

from nacre.core.lazy_dataclasses import dataclass
from nacre.firewall.rules.rule import Rule

Kind = Literal[
    "never-matches",
    "unreachable",
    "redundant",
    "deny-after-allow",
    "star-in-command",
    "star-in-resource",
    "question-mark",
    "broad-allow",
    "one-argument",
    "other-argument",
    "address-list",
    "other-recipients",
    "shell-operators",
    "sql-statements",
    "no-absolute-path",
    "letter-case",
    "only-tools",
    "only-tainted",
    "counts-nothing",
    "unknown-name",
]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that looks wrong; `rule` is the number of the rule or limit, `origin` its name.

    A finding about a whole profile has the number 0.

    `fix` are the rules of the policy after following the advice, if that is one step. They
    never allow a call that the policy does not allow.
    """

    rule: int
    origin: str
    kind: Kind
    text: str
    hint: str
    fix: tuple[Rule, ...] | None = None

    def __str__(self) -> str:
        return f"{self.origin}: {self.text} ({self.hint})"


def finding(
    rule: Rule, kind: Kind, text: str, hint: str, fix: Iterable[Rule] | None = None
) -> Finding:
    """Return a finding about a rule."""
    return Finding(rule.number, rule.origin, kind, text, hint, None if fix is None else tuple(fix))
