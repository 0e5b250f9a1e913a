"""Lint of profiles: rules that never decide, and names of servers and tools that do not exist."""

from collections.abc import Callable, Iterator
from difflib import get_close_matches

from nacre.core.own_server_name import OWN
from nacre.firewall.analysis.findings import Finding
from nacre.firewall.analysis.lint_arguments import Definitions
from nacre.firewall.analysis.rule_scope import Scope
from nacre.firewall.rules.policy import Policy, is_about
from nacre.firewall.rules.profile import Profile
from nacre.firewall.rules.rule import Rule

Lint = Callable[[Policy, Definitions | None], tuple[Finding, ...]]


def profile_findings(policy: Policy, tools: Definitions | None, lint: Lint) -> Iterator[Finding]:
    """Yield the findings about each profile; `lint` finds those about its rules.

    `tools` are the definitions that servers list, if they are known.
    """
    for profile in policy.profiles:
        yield from _names(profile, tools or {})
        for finding in lint(profile.policy, tools):
            if finding.origin.startswith(f"profile {profile.name} "):
                yield finding
        for rule in profile.rules:
            if not any(Scope.of(rule).overlaps(_scope(server)) for server in profile.servers):
                yield Finding(
                    rule.number,
                    rule.origin,
                    "never-matches",
                    "it is about a server that is not in the profile",
                    "name a server of the profile, or leave the rule out",
                )


def _scope(server: str) -> Scope:
    return Scope.of(Rule(0, "deny", "**", server=server))


def _names(profile: Profile, tools: Definitions) -> Iterator[Finding]:
    origin = f"profile {profile.name}"
    for server in profile.servers if tools else ():
        if server not in tools and server != OWN:
            similar = get_close_matches(server, tools, n=1)
            text = f"no server '{server}' has listed its tools"
            hint = f"did you mean '{similar[0]}'?" if similar else "see 'nacre server list'"
            yield Finding(0, origin, "unknown-name", text, hint)
    if OWN in profile.servers or not all(server in tools for server in profile.servers):
        return  # not all of its tools are known
    for glob in profile.tools or ():
        rule = Rule(0, "allow", glob, kind="tool")
        if not any(
            is_about(rule, "tool", str(tool["name"]), server)
            for server in profile.servers
            for tool in tools[server]
        ):
            text = f"tools: no tool of its servers matches '{glob}'"
            yield Finding(0, origin, "unknown-name", text, "see 'nacre policy coverage'")
