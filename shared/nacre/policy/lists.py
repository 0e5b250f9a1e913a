"""Lists of allowed and disallowed tools, as rules.

What is disallowed stands before every other rule and what is allowed after them, so
that a list of allowed tools never takes back what a rule denies.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from nacre.policy.rule import Action, Rule


def rules_from_lists(
    written: Sequence[Rule] = (), *, allowed: Iterable[str] = (), disallowed: Iterable[str] = ()
) -> tuple[Rule, ...]:
    """Return all rules in the order in which they are read.

    The written ones keep their numbers; the others are numbered after them. An entry is
    `mcp__server__tool`, with globs if wanted, or `mcp__server` for all of its tools.
    """
    number = len(written)
    first = [
        _rule("deny", tool, "disallowed_tools", place) for place, tool in enumerate(disallowed, 1)
    ]
    last = [_rule("allow", tool, "allowed_tools", place) for place, tool in enumerate(allowed, 1)]
    first = [replace(rule, number=number + place) for place, rule in enumerate(first, 1)]
    number += len(first)
    last = [replace(rule, number=number + place) for place, rule in enumerate(last, 1)]
    return (*first, *written, *last)


def _rule(action: Action, tool: str, listed: str, place: int) -> Rule:
    name = tool
    if tool.startswith("mcp__") and "__" not in tool[5:] and "*" not in tool:
        name = f"{tool}__**"
    return Rule(0, action, name, kind="tool", origin=f"{listed} {place}")
