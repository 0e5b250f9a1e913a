"""A profile of a policy: the servers and tools that its callers see, and rules of its own."""

from typing import TYPE_CHECKING

from nacre.core.lazy_dataclasses import dataclass
from nacre.firewall.rules.policy import is_about
from nacre.firewall.rules.rule import Rule

if TYPE_CHECKING:
    from nacre.firewall.rules.policy import Policy


@dataclass(frozen=True, slots=True)
class Profile:
    """One profile. `tools` are globs as in rules; None is every tool of its `servers`.

    `policy` decides in it: the profile's own rules first, then those of the whole policy.
    """

    name: str
    servers: tuple[str, ...]
    tools: tuple[str, ...] | None
    rules: tuple[Rule, ...]
    policy: "Policy"

    def has_server(self, server: str) -> bool:
        """Tell whether a server belongs to the profile, by its exact name."""
        return server in self.servers

    def has_tool(self, server: str, tool: str) -> bool:
        """Tell whether a tool belongs to the profile; a glob matches as in a rule that allows."""
        if server not in self.servers:
            return False
        if self.tools is None:
            return True
        return any(
            is_about(Rule(0, "allow", glob, kind="tool"), "tool", tool, server)
            for glob in self.tools
        )
