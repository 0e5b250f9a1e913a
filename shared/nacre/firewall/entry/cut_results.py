"""Results of the MCP entry, cut where a limit of their size is passed; the whole is stored."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from nacre.core.coroutines import is_in_loop
from nacre.core.errors import BlockedError, NacreError, UnknownResourceError
from nacre.firewall.enforce.judge import Call, Judge
from nacre.firewall.limits.result_cut import RESULTS, Whole, cut, is_cuttable, size_of
from nacre.firewall.rules.limit import Limit
from nacre.firewall.rules.rule import Subject
from nacre.protocol import strict_json
from nacre.protocol.context import Context
from nacre.protocol.encoded_results import Spelled

if TYPE_CHECKING:
    from nacre.firewall.limits.whole_results import WholeResults

_NOT_STORED = "The rest could not be stored."


class CutResults:
    """Cuts results that are above a limit, and stores the whole for their caller.

    `whole` is called when a result is cut or the whole of one is read.
    """

    def __init__(self, whole: "Callable[[], WholeResults]") -> None:
        self._whole = whole

    async def fitted(
        self,
        judge: Judge,
        subject: Subject,
        method: str,
        value: Mapping[str, Any],
        context: Context,
    ) -> Mapping[str, Any]:
        """Return a result, cut if it is above a limit; raises BlockedError without an audit."""
        policy = judge.policy()
        limit = judge.limits.result_limit(policy, subject, judge.where)
        if limit is None or not is_cuttable(method, value):
            return value
        size = size_of(value)
        if size <= limit.amount:
            return value
        enforces = policy.settings.mode == "enforce"
        fitted, note = value, "would be cut"
        if enforces:
            work = partial(self._cut, judge, method, value, limit, size, context)
            if is_in_loop():
                import asyncio  # noqa: PLC0415 - a function on AWS never loads it

                fitted, note = await asyncio.to_thread(work)
            else:  # a blocking tool already has its own thread
                fitted, note = work()
        recorded = judge.note(
            "note",
            method,
            sender="server",
            call=Call(
                subject=subject,
                principal=_caller(context),
                being=_being(context),
                profile=context.principal.profile if context.principal else "",
            ),
            request=None if context.request_id is None else str(context.request_id),
            note=f"a result of {size:,} bytes {note} ({limit.matching.origin})",
        )
        if not recorded:
            raise BlockedError(
                "Blocked by policy (the audit cannot be written)", rule=None, audit=""
            )
        return fitted

    async def read(self, uri: str, context: Context) -> Mapping[str, Any]:
        """Return the whole of a result as contents; raises UnknownResourceError."""
        work = partial(self._whole().read, uri, being=_being(context), caller=_reader(context))
        if is_in_loop():
            import asyncio  # noqa: PLC0415 - as above

            contents = await asyncio.to_thread(work)
        else:
            contents = work()
        if contents is None:
            raise UnknownResourceError(uri)
        return contents

    def _cut(
        self,
        judge: Judge,
        method: str,
        value: Mapping[str, Any],
        limit: Limit,
        size: int,
        context: Context,
    ) -> tuple[Mapping[str, Any], str]:
        data = value.encode() if isinstance(value, Spelled) else strict_json.encode(value)
        try:
            uri = self._whole().keep(data, being=_being(context), caller=_reader(context))
        except NacreError as error:
            judge.tell(f"a result that was cut could not be stored: {error}")
            whole, note = Whole(None, _NOT_STORED), "was cut and could not be stored"
        else:
            whole, note = Whole(uri), f"was cut and stored as {uri.removeprefix(RESULTS)}"
        return cut(method, value, limit, size, whole), note


def _caller(context: Context) -> str:
    return context.principal.subject if context.principal else "local"


def _reader(context: Context) -> str:
    """Return the key of those who may read the whole of a result: its caller, in its profile."""
    profile = context.principal.profile if context.principal else ""
    return f"{_caller(context)}/{profile}" if profile else _caller(context)


def _being(context: Context) -> str:
    return context.principal.being_id if context.principal else ""
