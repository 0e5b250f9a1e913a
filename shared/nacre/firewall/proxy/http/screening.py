"""Decisions about what a server says, where a large result must hold up nobody else."""

import asyncio

from nacre.firewall.enforce.guard import Guard
from nacre.firewall.enforce.verdicts import Verdict


async def decided(guard: Guard, raw: bytes) -> Verdict:
    """Return what becomes of a server's message; a large one is screened in another process."""
    large = guard.large(raw)
    if large is None or guard.screening is None:
        return guard.from_server(raw)
    looked = await asyncio.to_thread(
        guard.screening.look, raw, large.method, large.sections, lines=large.lines
    )
    return guard.from_screening(raw, large, looked)
