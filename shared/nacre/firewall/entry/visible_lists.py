"""The lists of the MCP entry, without tools, prompts and resources that the policy denies.

Only the names in rules are needed here. So a server lists its tools without loading the code
that decides about calls.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from nacre.core.errors import NacreError
from nacre.core.own_server_name import OWN
from nacre.firewall.entry.mounted_servers import NAMED_BY, Kind, Mounts, place_of
from nacre.firewall.rules.policy import RuleNames
from nacre.protocol.principal import Principal
from nacre.protocol.surface import Definitions

if TYPE_CHECKING:
    from nacre.firewall.rules.policy import Policy


class VisibleLists:
    """Filters the lists of this server; `server` is its name in rules.

    `policy_of` returns the policy of a Being by its id, or of nobody in particular for "".
    `mounts` knows the servers behind this one.
    """

    def __init__(
        self,
        policy_of: "Callable[[str], Policy]",
        *,
        server: str = OWN,
        mounts: Mounts | None = None,
    ) -> None:
        self._policy_of = policy_of
        self._server = server
        self._mounts = mounts
        self._visible: dict[Kind, tuple[object, str, Definitions]] = {}

    def tools(self, definitions: Definitions, principal: Principal | None) -> Definitions:
        """Return the tools that the policy does not deny for every argument.

        When no policy can be read, this returns all tools, and each call is denied.
        """
        return self._filtered("tool", definitions, principal.being_id if principal else "")

    def others(self, kind: Kind, definitions: Definitions) -> Definitions:
        """Return the prompts, resources or templates that do not wait for their owner."""
        return self._filtered(kind, definitions, "")

    def _filtered(self, kind: Kind, definitions: Definitions, being_id: str) -> Definitions:
        try:
            policy = self._policy_of(being_id)
        except NacreError:
            return definitions
        if policy.settings.mode == "monitor":
            return definitions
        # Read once: another thread may store the list of another policy here.
        cached = self._visible.get(kind)
        if cached is None or cached[0] is not definitions or cached[1] != policy.digest:
            rules = RuleNames(policy.rules)
            visible = [
                entry for entry in definitions if self._is_visible(kind, entry, policy, rules)
            ]
            is_all = len(visible) == len(definitions)
            cached = (definitions, policy.digest, definitions if is_all else tuple(visible))
            self._visible[kind] = cached
        return cached[2]

    def _is_visible(
        self, kind: Kind, definition: Mapping[str, Any], policy: "Policy", rules: RuleNames
    ) -> bool:
        name = str(definition[NAMED_BY[kind]])
        if kind == "tool":
            place = place_of(self._mounts, kind, name, self._server)
            if not rules.may_pass("tool", place.name, place.server):
                return False
        hold = None if self._mounts is None else self._mounts.held(kind, name)
        return hold is None or not hold.applies(policy)
