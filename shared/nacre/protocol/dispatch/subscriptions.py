"""The request whose answer is a stream of changes: `subscriptions/listen`."""

import asyncio
from collections.abc import Mapping
from typing import Any

from nacre.protocol.application_rules import Rulebook
from nacre.protocol.caller import Caller
from nacre.protocol.changes import Changes, Wanted, honoured
from nacre.protocol.context import Channel
from nacre.protocol.dispatch.calls import Call
from nacre.protocol.messages import Answer, Request, answer, refusal
from nacre.protocol.results import Results
from nacre.protocol.versions import META_SUBSCRIPTION


def listen(
    request: Request, caller: Caller, changes: Changes, results: Results, rules: Rulebook
) -> Call:
    """Prepare a subscription, which lasts until the client hangs up or the server stops."""
    requested = Wanted.of(request.params)
    mark = {META_SUBSCRIPTION: request.id}

    async def run(channel: Channel) -> Answer:
        try:
            return await subscribed(channel)
        except Exception as error:  # noqa: BLE001 - the edge: every request gets an answer
            return refusal(request.id, rules.explain(error, modern=True), error)

    async def subscribed(channel: Channel) -> Answer:
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        seen = await asyncio.to_thread(changes.baseline, caller.principal, requested)

        def tell(method: str, params: Mapping[str, Any]) -> None:
            marked: dict[str, Any] = {**params, "_meta": mark}
            loop.call_soon_threadsafe(channel.notify, method, marked)

        def end() -> None:
            loop.call_soon_threadsafe(ended.set)

        with changes.watching(caller.principal, seen, tell, end):
            # What is found meanwhile comes by the loop, and so after this.
            acknowledged = {"notifications": honoured(seen), "_meta": mark}
            channel.notify("notifications/subscriptions/acknowledged", acknowledged)
            await ended.wait()
        return answer(request.id, results.encode({"_meta": mark}, modern=True))

    return Call(False, run)
