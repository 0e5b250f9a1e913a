"""The lists of the MCP entry, without tools, prompts and resources that the policy denies.

Only the names in rules are needed here. So a server lists its tools without loading the code
that decides about calls.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from nacre.core.bounded_cache import BoundedCache
from nacre.core.errors import NacreError
from nacre.core.own_server_name import OWN
from nacre.firewall.entry.mounted_servers import (
    NAMED_BY,
    Kind,
    Mounts,
    Place,
    is_in_profile,
    place_of,
)
from nacre.firewall.rules.policy import RuleNames
from nacre.protocol.principal import Principal
from nacre.protocol.surface import Definitions

if TYPE_CHECKING:
    from nacre.firewall.rules.policy import Policy
    from nacre.firewall.rules.profile import Profile

_MAX_LISTS = 256  # of policies and profiles
_Key = tuple[Kind, str, str]  # with the Being and the profile


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
        # By the policy, because callers in profiles have different ones.
        self._visible: BoundedCache[tuple[Kind, str], tuple[object, Definitions]] = BoundedCache(
            _MAX_LISTS
        )
        self._in_profile: BoundedCache[_Key, tuple[object, object, Definitions]] = BoundedCache(
            _MAX_LISTS
        )

    def tools(self, definitions: Definitions, principal: Principal | None) -> Definitions:
        """Return the tools that the policy does not deny for every argument.

        When no policy can be read, this returns all tools, and each call is denied.
        """
        return self._filtered("tool", definitions, principal)

    def others(self, kind: Kind, definitions: Definitions) -> Definitions:
        """Return the prompts, resources or templates that do not wait for their owner."""
        return self._filtered(kind, definitions, None)

    # Profiles.

    def profile(self, principal: Principal) -> "Profile":
        """Return the profile of a caller; raises UnknownProfileError."""
        return self._policy_of(principal.being_id).profile(principal.profile)

    def has(self, kind: Kind, name: str, principal: Principal) -> bool:
        """Tell whether an item belongs to the caller's profile, whether or not it exists."""
        return is_in_profile(self.profile(principal), self._place(kind, name), kind, name)

    def in_profile(self, kind: Kind, definitions: Definitions, principal: Principal) -> Definitions:
        """Return the items of the caller's profile; the same object while nothing changed."""
        profile = self.profile(principal)
        key = kind, principal.being_id, profile.name
        cached = self._in_profile.get(key)
        if cached is None or cached[0] is not definitions or cached[1] is not profile:
            visible = tuple(
                entry
                for entry in definitions
                if is_in_profile(
                    profile,
                    self._place(kind, name := str(entry[NAMED_BY[kind]])),
                    kind,
                    name,
                )
            )
            cached = self._in_profile[key] = (definitions, profile, visible)
        return cached[2]

    def _place(self, kind: Kind, name: str) -> Place:
        if kind == "template" and self._mounts is not None:
            return self._mounts.template_place(name) or Place(self._server, name)
        return place_of(self._mounts, kind, name, self._server)

    def _filtered(
        self, kind: Kind, definitions: Definitions, principal: Principal | None
    ) -> Definitions:
        try:
            policy = self._policy_of(principal.being_id if principal else "")
            if principal is not None and principal.profile:
                policy = policy.profile(principal.profile).policy
        except NacreError:
            return definitions
        if policy.settings.mode == "monitor":
            return definitions
        # Read once: another thread may store the list of other definitions here.
        cached = self._visible.get((kind, policy.digest))
        if cached is None or cached[0] is not definitions:
            rules = RuleNames(policy.rules)
            visible = [
                entry for entry in definitions if self._is_visible(kind, entry, policy, rules)
            ]
            is_all = len(visible) == len(definitions)
            cached = (definitions, definitions if is_all else tuple(visible))
            self._visible[kind, policy.digest] = cached
        return cached[1]

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
