"""What `lint` reports: one thing that looks wrong, and what to do about it."""

from dataclasses import dataclass
from typing import Literal

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
]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that looks wrong; `rule` is the number of the rule it is about.

    `fix` are the rules of the policy after the advice was followed, where it is one step.
    It never allows a call that the policy does not allow.
    """

    rule: int
    origin: str
    kind: Kind
    text: str
    hint: str
    fix: tuple[Rule, ...] | None = None

    def __str__(self) -> str:
        return f"{self.origin}: {self.text} ({self.hint})"
