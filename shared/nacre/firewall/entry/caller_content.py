"""What other servers behind the entry hand back, ask and list, judged for each caller."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nacre.core.errors import BlockedError, RelayedError
from nacre.firewall.enforce.judge import Denied
from nacre.firewall.entry.mounted_servers import Kind
from nacre.firewall.entry.tool_calls import NAMED, Blocked, EntryCalls, blocked
from nacre.firewall.rules.rule import Subject
from nacre.protocol.context import Context
from nacre.protocol.surface import WireResult
from nacre.protocol.versions import is_modern

if TYPE_CHECKING:
    from nacre.firewall.entry.mounted_content import MountedContent
    from nacre.firewall.entry.mounted_servers import Watched
    from nacre.ports.upstream import Offered


class _Changed:
    """A result without what may not be in it."""

    __slots__ = ("_value",)

    def __init__(self, value: Mapping[str, Any]) -> None:
        self._value = value

    def to_dict(self) -> Mapping[str, Any]:
        """Return the result as `tools/call` carries it."""
        return self._value


class EntryContent:
    """Looks at what comes from other servers; `content` is called when something does."""

    def __init__(self, calls: EntryCalls, content: "Callable[[], MountedContent] | None") -> None:
        self._calls = calls
        self._content = content

    # What comes back.

    async def screened(self, tool: str, result: WireResult, context: Context) -> WireResult:
        """Return the result of a tool as its caller may have it."""
        server = self._calls.place("tool", tool).server
        if server == self._calls.server or self._content is None:
            return result
        value = result.to_dict()
        try:
            passed = await self._content().large(
                self._calls.judge(context, server), "tools/call", value, context
            )
        except BlockedError as error:
            denied = Denied(str(error), None, "")
            return Blocked(denied, is_modern=is_modern(context.version))
        return result if passed is value else _Changed(passed)

    async def screened_value(
        self, method: str, params: Mapping[str, Any], value: Mapping[str, Any], context: Context
    ) -> Mapping[str, Any]:
        """Return a resource or a prompt as its caller may have it; raises BlockedError."""
        server = self._calls.named(method, params)[0].server
        if server == self._calls.server or self._content is None:
            return value
        passed: Mapping[str, Any] = await self._content().large(
            self._calls.judge(context, server), method, value, context
        )
        return passed

    def screened_completion(self, ref: Mapping[str, Any], found: dict[str, Any]) -> dict[str, Any]:
        """Return suggestions as their caller may have them; raises BlockedError."""
        kind: Kind = "prompt" if ref.get("type") == "ref/prompt" else "resource"
        name = str(ref.get("name" if kind == "prompt" else "uri", ""))
        server = self._calls.place(kind, name).server
        if server == self._calls.server or self._content is None:
            return found
        context = Context.detached()
        judge = self._calls.judge(context, server)
        passed: dict[str, Any] = self._content().result(
            judge, "completion/complete", found, context
        )
        return passed

    def screened_error(
        self, method: str, name: str, error: RelayedError, context: Context
    ) -> RelayedError:
        """Return another server's error as its caller may have it; raises BlockedError."""
        kind: Kind = "tool" if method == "tools/call" else NAMED[method][0]
        server = self._calls.place(kind, name).server
        if server == self._calls.server or self._content is None:
            return error
        value = {"message": str(error), "data": error.data}
        passed = self._content().result(self._calls.judge(context, server), method, value, context)
        if passed is value:
            return error
        return RelayedError(error.code, str(passed["message"]), passed["data"])

    # What other servers ask of the client.

    async def decide(
        self, server: str, method: str, params: Mapping[str, Any], context: Context
    ) -> Mapping[str, Any]:
        """Return the params as the client may be asked; raises BlockedError."""
        assert self._content is not None, "there are no other servers"
        judge = self._calls.judge(context, server)
        screened = self._content().asked(judge, method, params)
        call = replace(
            self._calls.call(Subject("method", method, server, params), context),
            sender="server",
            granted=False,
            objection=screened.objection,
            doubt=screened.doubt,
            note=screened.note,
        )
        ruling = await self._calls.settled(judge, call, judge.rule(call), context)
        if isinstance(ruling, Denied):
            raise blocked(ruling)
        changed: Mapping[str, Any] = screened.value
        return changed if judge.policy().settings.mode == "enforce" else params

    def answer(
        self, server: str, method: str, result: Mapping[str, Any], context: Context
    ) -> Mapping[str, Any]:
        """Return the client's answer as the server may have it; raises BlockedError."""
        assert self._content is not None, "there are no other servers"
        judge = self._calls.judge(context, server)
        if method == "roots/list":
            self._calls.learn_roots(server, result)
        given: Mapping[str, Any] = self._content().answer(judge, method, result, context)
        return given

    def passing(self, server: str, method: str, said: Any, context: Context) -> Any:
        """Return what a server says by the way as the client may have it; raises BlockedError."""
        assert self._content is not None, "there are no other servers"
        judge = self._calls.judge(context, server)
        return self._content().result(judge, method, said, context)

    def listed(self, server: str, offered: "Offered") -> "Watched":
        """Return what of an offer waits for the server's owner, and the offer as it is shown."""
        assert self._content is not None, "there are no other servers"
        return self._content().listed(self._calls.judge_of("", server), offered)
