"""Reads the profiles of a policy file."""

import re
from collections.abc import Mapping
from typing import Any

from nacre.core.lazy_dataclasses import replace
from nacre.core.own_server_name import OWN, is_own
from nacre.firewall.policies.rule_reader import RuleReader
from nacre.firewall.policies.value_reader import SHOWN, Reader, kind_of_value
from nacre.firewall.rules.rule import Rule
from nacre.protocol.principal import PROFILE_NAME_RULE, is_profile_name

_SERVER = re.compile(r"(?!.*__)[A-Za-z0-9_.-]{1,48}")
_QUALIFIED = "mcp__"

Parts = tuple[str, tuple[str, ...], tuple[str, ...] | None, tuple[Rule, ...]]
"""A profile's name, servers, tools and own rules."""


class ProfileReader(Reader):
    """Reads all profiles. `first` is the number of the first rule of each.

    Each numbers its own rules, so that no number tells how many rules another one has.
    """

    def profiles(self, tables: Any, first: int) -> list[Parts]:
        """Return the parts of each profile."""
        if not isinstance(tables, dict):
            raise self.error(
                "profile must be tables with names", "write [profile.work] above a profile"
            )
        profiles: list[Parts] = []
        for name, table in tables.items():
            if not is_profile_name(name):
                hint = f"a profile's name has {PROFILE_NAME_RULE}, because it is a part of its URL"
                raise self.error(f"[profile.{name[:SHOWN]}] cannot be a name", hint)
            reader = ProfileReader(f"{self.source}: [profile.{name}]")
            profiles.append(reader.profile(name, table, first))
        return profiles

    def profile(self, name: str, table: Any, first: int) -> Parts:
        """Return the parts of one profile."""
        if not isinstance(table, dict):
            raise self.error(f"is {kind_of_value(table)}", f"write [profile.{name}]")
        self.check_keys(table, ("servers", "tools", "rule"), "a profile")
        servers = self._servers(table)
        return name, servers, self._tools(table, servers), self._rules(name, table, first)

    def _servers(self, table: Mapping[str, Any]) -> tuple[str, ...]:
        if not table.get("servers"):
            raise self.error(
                "names no servers",
                f'write servers = ["issues", "{OWN}"]; {OWN} is the Being itself',
            )
        servers = self.texts(table["servers"], "servers")
        self._check_repeated(servers, "servers")
        for server in servers:
            if is_own(server) and server != OWN:
                raise self.error(f"servers: '{server[:SHOWN]}'", f"write '{OWN}' for the Being")
            if not _SERVER.fullmatch(server):
                hint = "write exact names, as 'nacre server list' shows them"
                raise self.error(f"servers: '{server[:SHOWN]}' is no server's name", hint)
        return servers

    def _tools(self, table: Mapping[str, Any], servers: tuple[str, ...]) -> tuple[str, ...] | None:
        if "tools" not in table:
            return None
        tools = self.texts(table["tools"], "tools")
        if not tools:
            raise self.error("tools is an empty list", "leave it out for every tool of its servers")
        self._check_repeated(tools, "tools")
        for tool in tools:
            self.glob(tool, "tools")
            server, separator, _ = tool.removeprefix(_QUALIFIED).partition("__")
            if not tool.startswith(_QUALIFIED) or set(server) & set("*?"):
                continue
            if not separator:
                raise self.error(f"tools: no tool is called '{tool[:SHOWN]}'", f"write {tool}__*")
            if server not in servers:
                hint = f"add '{server[:SHOWN]}' to servers, or leave the tool out"
                raise self.error(
                    f"tools: '{tool[:SHOWN]}' belongs to a server that is not in the profile", hint
                )
        return tools

    def _rules(self, name: str, table: Mapping[str, Any], first: int) -> tuple[Rule, ...]:
        rules = table.get("rule", [])
        if not isinstance(rules, list):
            hint = f"write [[profile.{name}.rule]], in double brackets"
            raise self.error("rule must be tables", hint)
        return tuple(
            replace(
                RuleReader(self.source, place).read(rule),
                number=first + place - 1,
                origin=f"profile {name} rule {place}",
            )
            for place, rule in enumerate(rules, 1)
        )

    def _check_repeated(self, names: tuple[str, ...], label: str) -> None:
        for name in names:
            if names.count(name) > 1:
                raise self.error(f"{label} has '{name[:SHOWN]}' twice", "leave one of them out")
