"""The request whose answer is a stream of changes: `subscriptions/listen`."""

import asyncio
from collections.abc import Mapping
from typing import Any

from nacre.core.errors import NacreError
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
    """Prepare a subscription, which lasts until the client hangs up or the server stops.

    It ends with an error when the caller's token is revoked or has expired.
    """
    requested = Wanted.of(request.params)
    mark = {META_SUBSCRIPTION: request.id}

    async def run(channel: Channel) -> Answer:
        try:
            return await subscribed(channel)
        except Exception as error:  # noqa: BLE001 - the edge: every request gets an answer
            return refusal(request.id, rules.explain(error, modern=True), error)

    async def subscribed(channel: Channel) -> Answer:
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[NacreError | None] = loop.create_future()
        seen = await asyncio.to_thread(changes.baseline, caller.principal, requested)

        def tell(method: str, params: Mapping[str, Any]) -> None:
            marked: dict[str, Any] = {**params, "_meta": mark}
            loop.call_soon_threadsafe(channel.notify, method, marked)

        def finish(error: NacreError | None) -> None:
            if not ended.done():
                ended.set_result(error)

        def end(error: NacreError | None) -> None:
            loop.call_soon_threadsafe(finish, error)

        with changes.watching(caller.principal, seen, tell, end, caller.readmit):
            # What is found meanwhile comes by the loop, and so after this.
            acknowledged = {"notifications": honoured(seen), "_meta": mark}
            channel.notify("notifications/subscriptions/acknowledged", acknowledged)
            error = await ended
        if error is not None:
            raise error
        return answer(request.id, results.encode({"_meta": mark}, modern=True))

    return Call(False, run)
