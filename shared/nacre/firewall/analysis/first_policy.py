"""A first policy for the servers that are known, and the changes that it makes."""

import json
from collections.abc import Iterable, Iterator, Mapping

from nacre.core.lazy_dataclasses import dataclass, replace
from nacre.firewall.analysis.coverage import ToolCoverage, coverage
from nacre.firewall.policies.packs import text_of
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.rule import Rule


@dataclass(frozen=True, slots=True)
class KnownTool:
    """A tool that a server has listed; `says_it_reads` is the server's own claim."""

    name: str
    says_it_reads: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """A tool whose calls another policy decides differently."""

    server: str
    tool: str
    before: str
    after: str


def policy_for(tools: Mapping[str, Iterable[KnownTool]], *, allow_reading: bool) -> str:
    """Return a policy's TOML with one rule for each tool, which asks about it.

    With `allow_reading`, tools that claim to only read are allowed. The last rules ask about
    tools whose name a rule cannot match exactly.
    """
    sections = [
        "\n".join(_section(server, list(listed), allow_reading=allow_reading))
        for server, listed in sorted(tools.items())
        if _is_plain(server)
    ]
    head, _, tail = text_of("starter").partition("# Then the calls that need your approval")
    _, own_head, own_tools = tail.partition("# Nacre's own tools")
    return head + "".join(f"{section}\n" for section in sections) + own_head + own_tools


def changes(tools: Mapping[str, Iterable[str]], before: Policy, after: Policy) -> list[Change]:
    """Return the tools whose calls the second policy decides differently from the first.

    Rules that deny single arguments are left out: see `denied_arguments`.
    """
    before, after = _without_denied_arguments(before), _without_denied_arguments(after)
    pairs = zip(coverage(before, tools).tools, coverage(after, tools).tools, strict=True)
    return [
        Change(old.server, old.tool, _fates(old), _fates(new))
        for old, new in pairs
        if _fates(old) != _fates(new)
    ]


def denied_arguments(policy: Policy) -> list[str]:
    """Return the descriptions of the rules that deny a call because of its arguments."""
    return [rule.description or rule.origin for rule in policy.rules if _denies_arguments(rule)]


def _denies_arguments(rule: Rule) -> bool:
    return rule.action == "deny" and bool(rule.tests) and not rule.reads_origins


def _without_denied_arguments(policy: Policy) -> Policy:
    rules = tuple(rule for rule in policy.rules if not _denies_arguments(rule))
    return replace(policy, rules=rules)


def _fates(tool: ToolCoverage) -> str:
    text = _fate_text(tool.fate)
    tainted = tool.tainted and _fate_text(tool.tainted)
    if tainted is None or tainted == text:
        return text
    return f"{text}; after results of external servers: {tainted}"


def _fate_text(fate: str) -> str:
    return {"unmentioned": "denied", "depends": "depends on the arguments"}.get(fate, fate)


def _section(server: str, tools: list[KnownTool], *, allow_reading: bool) -> Iterator[str]:
    yield f"# The tools of {server}. Change 'prompt' to 'allow' for those that need no question."
    for tool in sorted(tools, key=lambda tool: (not tool.says_it_reads, tool.name)):
        if not _is_plain(tool.name):
            continue
        yield "[[rule]]"
        yield f'action = "{"allow" if allow_reading and tool.says_it_reads else "prompt"}"'
        yield f"tool = {_quoted(tool.name)}" + (
            "  # says that it only reads" if tool.says_it_reads else ""
        )
        yield f"server = {_quoted(server)}"
        yield ""


def _is_plain(name: str) -> bool:
    """Tell whether a rule's glob can match this name and no other."""
    return name.isprintable() and not set(name) & set("*?") and not name.startswith("mcp__")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
