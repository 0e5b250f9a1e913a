"""Results and errors on their way to a caller: noted, screened, and cut above a limit."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from nacre.core.errors import (
    BlockedError,
    LoginNeededError,
    NewSessionError,
    OffersChangedError,
    RelayedError,
    UnlistedToolError,
    UpstreamError,
)
from nacre.firewall.enforce.judge import Denied, Judge
from nacre.firewall.enforce.refusals import blocked_result
from nacre.firewall.entry.call_decisions import CallDecisions, request_subject
from nacre.firewall.entry.caller_judges import CallerJudges
from nacre.firewall.entry.mounted_servers import RESULTS, Kind, Mounts, Place
from nacre.protocol.context import Context
from nacre.protocol.surface import ReadyResult, WireResult
from nacre.protocol.versions import MODERN

if TYPE_CHECKING:
    from nacre.firewall.entry.cut_results import CutResults
    from nacre.firewall.entry.mounted_content import MountedContent
    from nacre.firewall.entry.received_results import ReceivedResults

# Errors of Nacre about a server that quote nothing of it.
_WITHOUT_CONTENT = (LoginNeededError, NewSessionError, OffersChangedError, UnlistedToolError)


class ResultChecks:
    """Checks what callers receive.

    `content` is called when another server sends something, `results` when a limit may be about
    the size of a result, and `received` when content of an external server is handed over.
    """

    def __init__(
        self,
        judges: CallerJudges,
        decisions: CallDecisions,
        *,
        own_server: str,
        mounts: Mounts | None,
        content: "Callable[[], MountedContent] | None",
        results: "Callable[[], CutResults] | None",
        received: "Callable[[], ReceivedResults] | None",
    ) -> None:
        self._judges = judges
        self._decisions = decisions
        self._own_server = own_server
        self._mounts = mounts
        self._content = content
        self._results = results
        self._received = received

    async def tool_result(
        self,
        name: str,
        place: Place,
        arguments: Mapping[str, Any],
        result: WireResult,
        context: Context,
    ) -> WireResult:
        """Return a tool's result as its caller may get it."""
        judge = self._judges.of(context.principal, place.server)
        cuts = self._cuts(judge)
        is_own = place.server == self._own_server or self._content is None
        self._note(place.server, judge, context)
        if is_own and cuts is None:
            return result
        value = changed = result.to_dict()
        try:
            if self._content is not None and not is_own:
                changed = await self._content().large(judge, "tools/call", value, context)
            if cuts is not None:
                subject = self._decisions.tool_subject(name, place, arguments)
                changed = await cuts.fitted(judge, subject, "tools/call", changed, context)
        except BlockedError as error:
            return denied_result(Denied(str(error)), context)
        return result if changed is value else ReadyResult(changed)

    async def contents(
        self,
        kind: Kind,
        place: Place,
        method: str,
        params: Mapping[str, Any],
        value: Mapping[str, Any],
        context: Context,
    ) -> Mapping[str, Any]:
        """Return a resource or a prompt as its caller may get it; raises BlockedError."""
        judge = self._judges.of(context.principal, place.server)
        self._note(place.server, judge, context)
        if place.server != self._own_server and self._content is not None:
            value = await self._content().large(judge, method, value, context)
        cuts = self._cuts(judge)
        if cuts is not None:
            subject = request_subject(kind, method, params, place)
            value = await cuts.fitted(judge, subject, method, value, context)
        return value

    def has_whole(self, uri: str) -> bool:
        """Tell whether a URI is that of the whole of a result that was cut."""
        return self._results is not None and uri.startswith(RESULTS)

    async def whole(self, uri: str, context: Context) -> Mapping[str, Any]:
        """Return the whole of a result that was cut; raises UnknownResourceError."""
        assert self._results is not None
        contents = await self._results().read(uri, context)
        if self._received is not None:
            self._received().note_again(context)
        return contents

    def completion(self, server: str, completion: dict[str, Any]) -> dict[str, Any]:
        """Return suggestions that may go to the caller; raises BlockedError."""
        if server == self._own_server or self._content is None:
            return completion
        screened: dict[str, Any] = self._content().result(
            self._judges.of(None, server), "completion/complete", completion, Context.detached()
        )
        return screened

    def error(
        self, method: str, server: str, error: RelayedError, context: Context
    ) -> RelayedError:
        """Return another server's error that may go to the caller; raises BlockedError."""
        judge = self._judges.of(context.principal, server)
        self._note(server, judge, context)
        if server == self._own_server or self._content is None:
            return error
        value = {"message": str(error), "data": error.data}
        screened = self._content().result(judge, method, value, context)
        if screened is value:
            return error
        return RelayedError(error.code, str(screened["message"]), screened["data"])

    def note_fault(self, error: UpstreamError, server: str, context: Context) -> None:
        """Note an error of Nacre about a server, which may quote what the server has answered."""
        if not isinstance(error, _WITHOUT_CONTENT):
            self._note(server, self._judges.of(context.principal, server), context)

    def _note(self, server: str, judge: Judge, context: Context) -> None:
        """Note that the caller receives content of a server; raises UnavailableError."""
        if self._received is None or self._mounts is None or server == self._own_server:
            return
        if self._mounts.is_external(server):
            self._received().note(server, judge.policy(), context)

    def _cuts(self, judge: Judge) -> "CutResults | None":
        """Return the part that cuts results, if a limit may be about their size."""
        if self._results is None or not judge.policy().limits:
            return None
        return self._results()


def denied_result(denied: Denied, context: Context) -> WireResult:
    """Return the result of a tool call that was denied."""
    return ReadyResult(blocked_result(denied, is_modern=context.version == MODERN))
