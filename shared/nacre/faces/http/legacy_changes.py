"""Clients of older revisions hear of changes on the answer to a call, the only stream they have."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from nacre.protocol.changes import Changes
from nacre.protocol.http.http_messages import HttpCall
from nacre.protocol.versions import is_modern

Notify = Callable[[str, dict[str, Any]], None]


@contextmanager
def telling(call: HttpCall, changes: Changes, notify: Notify) -> Iterator[None]:
    """Tell the client what it has missed, and what changes while its call runs.

    What changes later waits for the client's next call.
    """
    caller = call.caller
    seen = caller.peer.seen
    if is_modern(caller.version) or not call.streams or seen is None:
        yield
        return
    for method, uri in list(seen.pending):
        notify(method, {"uri": uri} if uri else {})
    seen.pending.clear()
    loop, runs = asyncio.get_running_loop(), [True]

    def told(method: str, params: Mapping[str, Any]) -> None:
        if runs:
            notify(method, dict(params))
        else:
            seen.miss(method, params)

    def tell(method: str, params: Mapping[str, Any]) -> None:
        loop.call_soon_threadsafe(told, method, params)

    seen.tells.append(tell)
    changes.remember(caller.principal, seen)
    try:
        yield
    finally:
        runs.clear()
        seen.tells.remove(tell)
