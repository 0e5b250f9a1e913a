"""Messages of the servers behind the entry: questions to clients, notifications and offers."""

from collections.abc import Callable, Mapping
from typing import Any

from nacre.core.lazy_dataclasses import replace
from nacre.firewall.enforce.judge import Denied
from nacre.firewall.enforce.refusals import blocked_error
from nacre.firewall.entry.call_decisions import CallDecisions, approval_mark
from nacre.firewall.entry.caller_judges import CallerJudges
from nacre.firewall.entry.mounted_content import MountedContent
from nacre.firewall.entry.mounted_servers import CheckedOffer
from nacre.firewall.rules.rule import Subject
from nacre.ports.other_programs.upstream import Offered
from nacre.protocol.context import Context
from nacre.protocol.versions import MODERN

_ASKED = "asked"  # the key under which a call stores which questions its client may be asked


class ServerMessages:
    """Decides which messages pass between the servers behind the entry and its clients.

    `content` is called for the part that checks their texts.
    """

    def __init__(
        self,
        judges: CallerJudges,
        decisions: CallDecisions,
        content: Callable[[], MountedContent],
    ) -> None:
        self._judges = judges
        self._decisions = decisions
        self._content = content

    async def decide(
        self, server: str, method: str, params: Mapping[str, Any], context: Context, *, key: str
    ) -> Mapping[str, Any]:
        """Return the params with which a server may ask the client; raises BlockedError.

        The key names the question among those of its call. A later round of the call decides about
        it again: it is then neither counted nor put to its owner once more.
        """
        judge = self._judges.of(context.principal, server)
        screened = self._content().asked(judge, method, params)
        subject = Subject("method", method, server, params)
        mark = approval_mark(subject, judge.policy())
        was_allowed = context.handler_state.get(_ASKED, {}).get(key) == mark
        subject = self._decisions.with_received(subject, context, judge)
        call = replace(
            self._decisions.call(subject, context),
            sender="server",
            granted=was_allowed,
            counted=was_allowed,
            objection=screened.objection,
            doubt=screened.doubt,
            note=screened.note,
        )
        try:
            ruling = await self._decisions.settled(judge, call, judge.rule(call), context)
        finally:
            call.end()
        if isinstance(ruling, Denied):
            raise blocked_error(ruling)
        if context.version == MODERN:  # an older client is asked within one round
            context.handler_state.setdefault(_ASKED, {})[key] = mark
        changed: Mapping[str, Any] = screened.value
        return changed if judge.policy().settings.mode == "enforce" else params

    def answer(
        self, server: str, method: str, result: Mapping[str, Any], context: Context
    ) -> Mapping[str, Any]:
        """Return the client's answer that may go to the server; raises BlockedError."""
        judge = self._judges.of(context.principal, server)
        if method == "roots/list":
            self._judges.learn_roots(server, result)
        screened: Mapping[str, Any] = self._content().answer(judge, method, result, context)
        return screened

    def passing(self, server: str, method: str, params: Any, context: Context) -> Any:
        """Return a server's notification that may go to the client; raises BlockedError."""
        judge = self._judges.of(context.principal, server)
        return self._content().result(judge, method, params, context)

    def listed(self, server: str, offered: Offered) -> CheckedOffer:
        """Return which parts of an offer wait for the server's owner, and the offer to show."""
        return self._content().listed(self._judges.of(None, server), offered)
