"""Calls at the MCP entry: who decides about each, and what becomes of a question about it."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from operator import is_not
from typing import TYPE_CHECKING, Any

from nacre.core.coroutines import is_stepping
from nacre.core.errors import BlockedError, NacreError
from nacre.firewall.approvals.approver import Question, Waiting
from nacre.firewall.content.digests import arguments_sha256
from nacre.firewall.enforce.judge import Allowed, Call, Denied, Judge, Pending, Ruling
from nacre.firewall.enforce.refusals import blocked_result
from nacre.firewall.entry.mounted_servers import Kind, Mounts, Place
from nacre.firewall.rules.arguments.base_folders import roots_in, with_roots
from nacre.firewall.rules.rule import Subject, Surroundings
from nacre.protocol.context import Context
from nacre.protocol.principal import Principal
from nacre.protocol.versions import is_modern

if TYPE_CHECKING:
    from nacre.firewall.rules.policy import Policy

_APPROVAL = "approval-"
_APPROVED = "approved"  # among what a call keeps between its rounds: which call it was
_LOOK_SECONDS = 0.5  # how soon a held call goes on once somebody has decided
_MOST_JUDGES = 1024  # of Beings and servers, kept ready

NAMED: Mapping[str, tuple[Kind, str]] = {
    "resources/read": ("resource", "uri"),
    "prompts/get": ("prompt", "name"),
}

_Facts = tuple[Judge, Surroundings, tuple[str, ...]]

Judges = Callable[[str], Judge]
"""From a Being's id, or "" for nobody in particular, to who decides for it."""


class Blocked:
    """What a denied call gives back."""

    __slots__ = ("_denied", "_is_modern")

    def __init__(self, denied: Denied, *, is_modern: bool) -> None:
        self._denied = denied
        self._is_modern = is_modern

    def to_dict(self) -> dict[str, Any]:
        """Return the result as `tools/call` carries it."""
        return blocked_result(self._denied, is_modern=self._is_modern)


class EntryCalls:
    """Knows whose a call is, and which server it is for; `server` is our own name in rules."""

    def __init__(self, judges: Judges, server: str, mounts: Mounts | None) -> None:
        self.server = server
        self.mounts = mounts
        self._judges = judges
        self._of_servers: dict[tuple[str, str], tuple[_Facts, Judge]] = {}
        self._roots: dict[str, tuple[str, ...]] = {}

    # Who decides about what.

    def judge(self, context: Context, server: str) -> Judge:
        """Return who decides for the caller about a server."""
        return self.judge_of(being_of(context.principal), server)

    def judge_of(self, being_id: str, server: str) -> Judge:
        """Return who decides for a Being about a server."""
        own = self._judges(being_id)
        if server == self.server or self.mounts is None:
            return own
        known = self._of_servers.get((being_id, server))
        where = self.mounts.where(server)
        roots = self._roots.get(server, ())
        facts = (own, where, roots)
        if known is None or any(map(is_not, known[0], facts)):
            if len(self._of_servers) >= _MOST_JUDGES:
                self._of_servers.clear()
            judge = replace(own, server=server, where=with_roots(where, roots) if roots else where)
            known = self._of_servers[being_id, server] = (facts, judge)
        return known[1]

    def learn_roots(self, server: str, answer: Mapping[str, Any]) -> None:
        """Remember the roots that a client gives a server, before the server has them.

        Several clients share a server, so that the roots of each may be its bases.
        """
        roots = self._roots.get(server, ())
        joined = tuple(dict.fromkeys([*roots, *roots_in(answer)]))
        if joined != roots:
            self._roots[server] = joined

    def place(self, kind: Kind, name: str) -> Place:
        """Return where something lives."""
        found = None if self.mounts is None else self.mounts.place(kind, name)
        return found or Place(self.server, name)

    def named(self, method: str, params: Mapping[str, Any]) -> tuple[Place, Mapping[str, Any]]:
        """Return where a resource or prompt lives, and the request as it is made there."""
        kind, key = NAMED[method]
        place = self.place(kind, str(params[key]))
        return place, {**params, key: place.name}

    # Calls.

    def call(self, subject: Subject, context: Context) -> Call:
        """Return a call as it is decided about."""
        principal = context.principal
        return Call(
            subject=subject,
            principal=principal.subject if principal else "local",
            being=being_of(principal),
            request=None if context.request_id is None else str(context.request_id),
            can_elicit=_can_elicit(context),
            granted=self._was_approved(subject, context),
        )

    def mark_approved(self, subject: Subject, judge: Judge, context: Context) -> None:
        """Remember that it was approved: the answer to a later question brings it here again."""
        context.kept[_APPROVED] = _mark(subject, judge.policy())

    async def settled(
        self, judge: Judge, call: Call, ruling: Ruling, context: Context
    ) -> Allowed | Denied:
        """Return the ruling, after its person was asked where it needs one."""
        if not isinstance(ruling, Pending):
            return ruling
        by, request = ruling.by, ruling.request
        if isinstance(by, Question):
            # The ticket is in the name, so that an answer counts for no later question.
            name = f"{_APPROVAL}{by.ticket}"
            wanted = {name: {"method": "elicitation/create", "params": dict(by.params)}}
            try:
                given = (await context.ask(wanted))[name]
            except NacreError as error:
                refused = judge.look(call, ruling)  # it may have been allowed by the command
                if isinstance(refused, Pending):
                    text = f"{request.decision.text}: nobody answered ({error})"
                    refused = judge.refuse(call, request, text)
            else:
                refused = judge.answered(call, request, by.ticket, given)
        else:
            refused = await _held(judge, call, ruling, by, context)
        assert not isinstance(refused, Pending)
        return refused

    def _was_approved(self, subject: Subject, context: Context) -> bool:
        approved = context.kept.get(_APPROVED)
        if approved is None:
            return False
        try:
            policy = self._judges(being_of(context.principal)).policy()
            return bool(approved == _mark(subject, policy))
        except NacreError:
            return False


async def _held(
    judge: Judge, call: Call, pending: Pending, by: Waiting, context: Context
) -> Ruling:
    """Hold a call until somebody has decided elsewhere, or its time or its caller is gone."""
    end = time.monotonic() + by.seconds
    while (left := end - time.monotonic()) > 0 and not context.cancelled:
        await _pause(min(_LOOK_SECONDS, left))
        ruling = judge.look(call, pending)
        if not isinstance(ruling, Pending):
            return ruling
    return judge.refuse(call, pending.request, by.text)


async def _pause(seconds: float) -> None:
    if is_stepping():  # a handler that blocks, in a thread of its own
        time.sleep(seconds)
        return
    import asyncio  # noqa: PLC0415 - a function on AWS holds nothing, and does not load it

    await asyncio.sleep(seconds)


def _mark(subject: Subject, policy: "Policy") -> str:
    """Return what an approval was about: this call, and none that its handler makes."""
    arguments = arguments_sha256(subject.arguments)
    return f"{policy.digest} {subject.server} {subject.name} {arguments}"


def being_of(principal: Principal | None) -> str:
    """Return the id of a caller's Being, "" for nobody."""
    return principal.being_id if principal else ""


def _can_elicit(context: Context) -> bool:
    offered = context.capabilities.get("elicitation")
    if not isinstance(offered, Mapping) or (offered and "form" not in offered):
        return False
    return is_modern(context.version) or context.channel.can_ask


def blocked(denied: Denied) -> BlockedError:
    """Return what a denial is where no result can say it."""
    return BlockedError(denied.text, rule=denied.rule, audit=denied.audit)
