"""A dispatcher that records a span for every request."""

from nacre.core.traces import RootSpan, Value, recorder
from nacre.protocol.caller import Caller
from nacre.protocol.context import Channel
from nacre.protocol.dispatch.calls import Call
from nacre.protocol.dispatch.methods import Dispatcher
from nacre.protocol.messages import Answer, Request
from nacre.protocol.trace_context import trace_of

# Others come from callers, who may write anything there.
_METHODS = frozenset(
    (
        *("initialize", "ping", "server/discover", "logging/setLevel", "completion/complete"),
        *("tools/list", "tools/call", "prompts/list", "prompts/get"),
        *("resources/list", "resources/templates/list", "resources/read"),
        *("resources/subscribe", "resources/unsubscribe", "subscriptions/listen"),
        *("tasks/get", "tasks/update", "tasks/cancel"),
    )
)


class TracedDispatcher(Dispatcher):
    """Answers as its base does; each span lasts until the answer is there."""

    def begin(self, request: Request, caller: Caller) -> Answer | Call:
        """Check the request; return its answer, or the call that will give it."""
        tracer = recorder()
        if tracer is None:
            return super().begin(request, caller)
        name, attributes = self._described(request, caller)
        root = tracer.root(name, attributes, trace_of(request.meta))
        with root.active():
            begun = super().begin(request, caller)
        if isinstance(begun, Answer):
            _end(root, begun)
            return begun
        run = begun.run

        async def traced(channel: Channel) -> Answer:
            try:
                with root.active():
                    answer = await run(channel)
            except BaseException as error:
                root.fail(type(error).__name__)
                root.end()
                raise
            _end(root, answer)
            return answer

        return Call(begun.blocking, traced)

    def _described(self, request: Request, caller: Caller) -> tuple[str, dict[str, Value]]:
        method = request.method if request.method in _METHODS else "_OTHER"
        attributes: dict[str, Value] = {
            "mcp.method.name": method,
            "mcp.protocol.version": caller.version,
        }
        if isinstance(request.id, int):  # a text may be anything
            attributes["jsonrpc.request.id"] = str(request.id)
        if method != "tools/call":
            return method, attributes
        attributes["gen_ai.operation.name"] = "execute_tool"
        tool = request.params.get("name")
        if not isinstance(tool, str) or self._surface.get_tool(tool) is None:
            return method, attributes
        attributes["gen_ai.tool.name"] = tool
        return f"{method} {tool}", attributes


def _end(root: RootSpan, answer: Answer) -> None:
    if answer.failure is not None:
        root.set("rpc.response.status_code", str(answer.failure.code))
        root.fail(str(answer.failure.code))
    elif answer.cause is not None:
        root.fail("tool_error")
    root.end()
