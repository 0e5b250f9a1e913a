"""Decisions that take time: large messages, and those that rely on a list of the server."""

import asyncio
from collections.abc import AsyncIterator
from time import monotonic

from nacre.core.limits import CHANGED_LIST_SECONDS
from nacre.firewall.enforce.guard import Guard
from nacre.firewall.enforce.verdicts import Verdict

_POLL_SECONDS = 0.02


async def decide_response(guard: Guard, raw: bytes) -> Verdict:
    """Return the verdict on a server's message; a large one is screened in another process."""
    large = guard.large(raw)
    if large is None or guard.screening is None:
        return guard.from_server(raw)
    screened = await asyncio.to_thread(
        guard.screening.look, raw, large.method, large.sections, lines=large.lines
    )
    return guard.from_screening(raw, large, screened)


async def read_request(guard: Guard, raw: bytes) -> bytes:
    """Return a client's message as the guard takes it; another process reads a large call."""
    deciding = guard.large_call(raw)
    return raw if deciding is None else await asyncio.to_thread(guard.read_elsewhere, raw, deciding)


async def wait_for_list(guard: Guard, raw: bytes) -> AsyncIterator[bytes]:
    """Wait for the list that a client's message relies on; yield requests to send for it."""
    deadline = monotonic() + CHANGED_LIST_SECONDS
    while guard.delays(raw) and monotonic() < deadline:
        if (request := guard.first(raw)) is not None:
            yield request
        await asyncio.sleep(_POLL_SECONDS)
