"""Waiting for a person's decision about a call: the user of its client, or somebody elsewhere."""

import time

from nacre.core.coroutines import is_stepping
from nacre.core.errors import NacreError
from nacre.firewall.approvals.approver import Question, Waiting
from nacre.firewall.enforce.judge import Allowed, Call, Denied, Judge, Pending, Ruling
from nacre.protocol.context import Context

_QUESTION = "approval-"  # the start of a question's name
_LOOK_SECONDS = 0.5  # between checks whether a held call was decided


async def decided(judge: Judge, call: Call, pending: Pending, context: Context) -> Allowed | Denied:
    """Return the ruling of a person about a call, or its denial if nobody decides in time."""
    by = pending.by
    if isinstance(by, Question):
        ruling = await _asked(judge, call, pending, by, context)
    else:
        ruling = await _held(judge, call, pending, by, context)
    assert not isinstance(ruling, Pending)
    return ruling


async def _asked(
    judge: Judge, call: Call, pending: Pending, by: Question, context: Context
) -> Ruling:
    """Ask the user of the client."""
    # The ticket is in the name, so that an answer counts for no later question.
    name = f"{_QUESTION}{by.ticket}"
    question = {name: {"method": "elicitation/create", "params": dict(by.params)}}
    try:
        answer = (await context.ask(question))[name]
    except NacreError as error:
        ruling = judge.look(call, pending)  # the owner may have used the command
        if isinstance(ruling, Pending):
            text = f"{pending.request.decision.text}: nobody answered ({error})"
            ruling = judge.refuse(call, pending.request, text)
        return ruling
    return judge.answered(call, pending.request, by.ticket, answer)


async def _held(
    judge: Judge, call: Call, pending: Pending, by: Waiting, context: Context
) -> Ruling:
    """Hold a call until somebody has decided elsewhere, or its time or its caller is gone."""
    end = time.monotonic() + by.seconds
    while (remaining := end - time.monotonic()) > 0 and not context.cancelled:
        await _pause(min(_LOOK_SECONDS, remaining))
        ruling = judge.look(call, pending)
        if not isinstance(ruling, Pending):
            return ruling
    return judge.refuse(call, pending.request, by.text)


async def _pause(seconds: float) -> None:
    if is_stepping():  # a handler that blocks, in its own thread
        time.sleep(seconds)
        return
    import asyncio  # noqa: PLC0415 - a function on AWS holds nothing, and does not load it

    await asyncio.sleep(seconds)
