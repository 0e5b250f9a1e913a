"""Reads one limit of a policy file."""

from typing import Any, get_args

from nacre.firewall.policies.rule_reader import CALL_KEYS, RuleReader
from nacre.firewall.policies.value_reader import shown, suggestion
from nacre.firewall.rules.limit import SHARES, Limit, Period, Share
from nacre.firewall.rules.rule import Action

_KEYS = ("calls", "per", "by", "action", *CALL_KEYS)
_ACTIONS: tuple[Action, ...] = ("deny", "prompt")
_MAX_CALLS = 1_000_000_000


class LimitReader(RuleReader):
    """Reads one limit."""

    def read_limit(self, table: Any) -> Limit:
        """Return the limit of a table."""
        assert self.limit is not None
        if not isinstance(table, dict):
            raise self.error("is not a table", "write [[limit]] above each limit")
        self.check_keys(table, _KEYS, "a limit")
        action = table.get("action", "deny")
        if action not in _ACTIONS:
            hint = "leave it out to deny, or write prompt to ask"
            raise self.error(f"unknown action {shown(action)} for calls above a limit", hint)
        return Limit(
            number=self.limit,
            matching=self.calls(table, action, self.limit, f"limit {self.limit}"),
            calls=self._calls(table.get("calls")),
            per=self._per(table.get("per")),
            by=self._by(table.get("by", [])),
        )

    def _calls(self, value: Any) -> int:
        if value is None:
            raise self.error("has no calls", "write how many may be made, such as calls = 20")
        if type(value) is not int or not 1 <= value <= _MAX_CALLS:
            hint = "to allow none, write a rule that denies them" if value == 0 else None
            raise self.error(f"calls must be a whole number from 1 to {_MAX_CALLS:,}", hint)
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
