"""Results of the MCP entry, cut where a limit of their size is passed; the whole is stored."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from nacre.core.coroutines import is_in_loop
from nacre.core.errors import BlockedError, NacreError, UnknownResourceError
from nacre.firewall.enforce.judge import Judge
from nacre.firewall.entry.caller_judges import being_of, call_by, caller_of, profile_of
from nacre.firewall.limits.result_cut import RESULTS, Whole, cut, is_cuttable, size_of
from nacre.firewall.rules.limit import Limit
from nacre.firewall.rules.rule import Subject
from nacre.protocol import strict_json
from nacre.protocol.context import Context
from nacre.protocol.encoded_results import Spelled
from nacre.protocol.principal import Principal

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
            work = partial(self._cut, judge, method, value, limit, size, context.principal)
            if is_in_loop():
                import asyncio  # noqa: PLC0415 - a function on AWS never loads it

                fitted, note = await asyncio.to_thread(work)
            else:  # a blocking tool already has its own thread
                fitted, note = work()
        call = call_by(context, subject)
        recorded = judge.note(
            "note",
            method,
            sender="server",
            call=call,
            request=call.request,
            note=f"a result of {size:,} bytes {note} ({limit.matching.origin})",
        )
        if not recorded:
            raise BlockedError(
                "Blocked by policy (the audit cannot be written)", rule=None, audit=""
            )
        return fitted

    async def read(self, uri: str, context: Context) -> Mapping[str, Any]:
        """Return the whole of a result as contents; raises UnknownResourceError."""
        principal = context.principal
        work = partial(
            self._whole().read, uri, being=being_of(principal), caller=_reader(principal)
        )
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
        principal: Principal | None,
    ) -> tuple[Mapping[str, Any], str]:
        data = value.encode() if isinstance(value, Spelled) else strict_json.encode(value)
        try:
            uri = self._whole().keep(data, being=being_of(principal), caller=_reader(principal))
        except NacreError as error:
            judge.tell(f"a result that was cut could not be stored: {error}")
            whole, note = Whole(None, _NOT_STORED), "was cut and could not be stored"
        else:
            whole, note = Whole(uri), f"was cut and stored as {uri.removeprefix(RESULTS)}"
        return cut(method, value, limit, size, whole), note


def _reader(principal: Principal | None) -> str:
    """Return the key of those who may read the whole of a result: its caller, in its profile."""
    caller, profile = caller_of(principal), profile_of(principal)
    return f"{caller}/{profile}" if profile else caller
