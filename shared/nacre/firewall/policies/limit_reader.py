"""Reads one limit of a policy file."""

from collections.abc import Mapping
from typing import Any, get_args

from nacre.core.limits import CUT_RESULT_BYTES, LIMIT_AT_A_TIME
from nacre.firewall.policies.rule_reader import CALL_KEYS, RuleReader
from nacre.firewall.policies.value_reader import shown, suggestion
from nacre.firewall.rules.limit import MEASURES, SHARES, Limit, Measure, Period, Share
from nacre.firewall.rules.rule import Action

_KEYS = (*MEASURES, "per", "by", "action", *CALL_KEYS)
_ACTIONS: tuple[Action, ...] = ("deny", "prompt")
_MAX_AMOUNT = 1_000_000_000
_MAX_BYTES = 1_000_000_000_000
_AMOUNTS: Mapping[Measure, tuple[int, int]] = {  # the least and the most
    "calls": (1, _MAX_AMOUNT),
    "bytes": (1, _MAX_BYTES),
    "concurrency": (1, LIMIT_AT_A_TIME),
    "result_bytes": (CUT_RESULT_BYTES, _MAX_AMOUNT),
}
# The keys that do not apply to a measure, and the reason.
_UNUSED: Mapping[Measure, tuple[tuple[str, ...], str]] = {
    "calls": ((), ""),
    "bytes": ((), ""),
    "concurrency": (("per",), "it is about calls at the same time"),
    "result_bytes": (("per", "by", "action"), "each result that is larger is cut"),
}


class LimitReader(RuleReader):
    """Reads one limit."""

    def read_limit(self, table: Any) -> Limit:
        """Return the limit of a table."""
        assert self.limit is not None
        if not isinstance(table, dict):
            raise self.error("is not a table", "write [[limit]] above each limit")
        self.check_keys(table, _KEYS, "a limit")
        measure = self._measure(table)
        unused, reason = _UNUSED[measure]
        for key in unused:
            if key in table:
                raise self.error(
                    f"'{key}' does not apply to '{measure}'", f"leave it out: {reason}"
                )
        action = table.get("action", "deny")
        if action not in _ACTIONS:
            hint = "leave it out to deny, or write prompt to ask"
            raise self.error(f"unknown action {shown(action)} for calls above a limit", hint)
        matching = self.calls(table, action, self.limit, f"limit {self.limit}")
        if measure == "result_bytes" and not ("tool" in table or "resource" in table):
            raise self.error("result_bytes is about tools and resources", "write one of these")
        return Limit(
            number=self.limit,
            matching=matching,
            amount=self._amount(table[measure], measure),
            per=None if "per" in unused else self._per(table.get("per")),
            by=self._by(table.get("by", [])),
            measure=measure,
        )

    def _measure(self, table: Mapping[str, Any]) -> Measure:
        present = [measure for measure in MEASURES if measure in table]
        if not present:
            *names, last = (f"'{measure}'" for measure in MEASURES)
            raise self.error(
                f"has no {', '.join(names)} or {last}", "write one of them, such as calls = 20"
            )
        if len(present) > 1:
            raise self.error(f"has {' and '.join(present)}", "write a [[limit]] for each")
        return present[0]

    def _amount(self, value: Any, measure: Measure) -> int:
        least, most = _AMOUNTS[measure]
        if type(value) is not int or not least <= value <= most:
            hint = "to allow none, write a rule that denies them" if value == 0 else None
            raise self.error(f"{measure} must be a whole number from {least:,} to {most:,}", hint)
        return value

    def _per(self, value: Any) -> Period:
        periods: tuple[Period, ...] = get_args(Period)
        if value is None:
            raise self.error("has no per", 'write per = "minute", "hour" or "day"')
        if value not in periods:
            raise self.error(f"per: unknown period {shown(value)}", suggestion(value, periods))
        period: Period = value
        return period

    def _by(self, value: Any) -> tuple[Share, ...]:
        names = (value,) if isinstance(value, str) else self.texts(value, "by")
        for name in names:
            if name not in SHARES:
                raise self.error(f"by: unknown name {shown(name)}", suggestion(name, SHARES))
        return tuple(share for share in SHARES if share in names)
