"""The judges of callers: each decides by the policy of a Being or a profile, about one server."""

from collections.abc import Callable, Mapping
from operator import is_not
from typing import TYPE_CHECKING, Any

from nacre.core.bounded_cache import BoundedCache
from nacre.core.errors import InvalidParamsError, NotFoundError, UnknownResourceError
from nacre.core.lazy_dataclasses import replace
from nacre.firewall.enforce.judge import Call, Judge
from nacre.firewall.entry.mounted_servers import Kind, Mounts, Place, is_in_profile
from nacre.firewall.policies.live_policy import PolicySource
from nacre.firewall.rules.arguments.base_folders import roots_in, with_roots
from nacre.firewall.rules.rule import Subject, Surroundings
from nacre.protocol.context import Context
from nacre.protocol.principal import Principal

if TYPE_CHECKING:
    from nacre.firewall.rules.policy import Policy

_MAX_JUDGES = 1024  # of Beings and servers, kept ready

_Facts = tuple[Judge, Surroundings, tuple[str, ...]]

Judges = Callable[[str], Judge]
"""From a Being's id, or "" for nobody in particular, to the judge that decides for it."""


class CallerJudges:
    """Returns the judge that decides for a caller about a server.

    `own_server` is the name of this server in rules. `mounts` knows the servers behind it.
    """

    def __init__(self, judges: Judges, *, own_server: str, mounts: Mounts | None) -> None:
        self._judges = judges
        self._own_server = own_server
        self._mounts = mounts
        self._of_servers: BoundedCache[tuple[str, str, str], tuple[_Facts, Judge]] = BoundedCache(
            _MAX_JUDGES
        )
        self._of_profiles: BoundedCache[tuple[str, str], tuple[Judge, Judge]] = BoundedCache(
            _MAX_JUDGES
        )
        self._roots: dict[str, tuple[str, ...]] = {}

    def of(self, principal: Principal | None, server: str) -> Judge:
        """Return the judge that decides for a caller, or for nobody in particular."""
        being_id, profile = being_of(principal), profile_of(principal)
        own_judge = self._judges(being_id)
        if profile:
            own_judge = self._in_profile(being_id, profile, own_judge)
        if server == self._own_server or self._mounts is None:
            return own_judge
        cached = self._of_servers.get((being_id, server, profile))
        where = self._mounts.where(server)
        roots = self._roots.get(server, ())
        facts = (own_judge, where, roots)
        if cached is None or any(map(is_not, cached[0], facts)):
            where = with_roots(where, roots) if roots else where
            judge = replace(own_judge, server=server, where=where)
            cached = self._of_servers[being_id, server, profile] = (facts, judge)
        return cached[1]

    def check_profile(
        self, kind: Kind, name: str, place: Place, principal: Principal | None
    ) -> None:
        """Raise the error of an unknown name for one that is not in the caller's profile.

        Lists and names are narrowed before; this holds wherever a call comes from.
        """
        profile = profile_of(principal)
        if not profile:
            return
        policy = self._judges(being_of(principal)).policy()
        if is_in_profile(policy.profile(profile), place, kind, name):
            return
        if kind == "resource":
            raise UnknownResourceError(name)
        if kind == "prompt":
            raise NotFoundError(f"Prompt not found: {name[:200]}")
        raise InvalidParamsError(f"Unknown tool: {name[:200]}")

    def learn_roots(self, server: str, answer: Mapping[str, Any]) -> None:
        """Remember the roots that a client gives a server, before the server has them.

        Several clients share a server, so that the roots of each may be its bases.
        """
        roots = self._roots.get(server, ())
        joined = tuple(dict.fromkeys([*roots, *roots_in(answer)]))
        if joined != roots:
            self._roots[server] = joined

    def _in_profile(self, being_id: str, profile: str, whole: Judge) -> Judge:
        """Return the judge that decides by the policy of a profile."""
        cached = self._of_profiles.get((being_id, profile))
        if cached is None or cached[0] is not whole:
            judge = replace(whole, source=_ProfilePolicy(whole.source, profile))
            cached = self._of_profiles[being_id, profile] = (whole, judge)
        return cached[1]


class _ProfilePolicy:
    """The policy of a profile, as a PolicySource."""

    __slots__ = ("_profile", "_whole")

    def __init__(self, whole: PolicySource, profile: str) -> None:
        self._whole = whole
        self._profile = profile

    def current(self) -> "Policy":
        """Return the policy in force; raises UnknownProfileError if it has no such profile."""
        return self._whole.current().profile(self._profile).policy


def call_by(context: Context, subject: Subject) -> Call:
    """Return a caller's use of something, as judges decide about it and record it."""
    principal = context.principal
    return Call(
        subject=subject,
        principal=caller_of(principal),
        being=being_of(principal),
        request=None if context.request_id is None else str(context.request_id),
        profile=profile_of(principal),
    )


def caller_of(principal: Principal | None) -> str:
    """Return the name of a caller in the audit."""
    return principal.subject if principal else "local"


def being_of(principal: Principal | None) -> str:
    """Return the id of a caller's Being, "" for nobody."""
    return principal.being_id if principal else ""


def profile_of(principal: Principal | None) -> str:
    """Return the profile that a caller is in, "" for none."""
    return principal.profile if principal else ""
