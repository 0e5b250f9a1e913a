"""Reads single values of a policy file strictly; errors name the place and what to write."""

from collections.abc import Iterable, Mapping
from typing import Any

from nacre.core.errors import PolicyError

_SYNONYMS = {
    "arg": "args",
    "arguments": "args",
    "rules": "rule",
    "limits": "limit",
    "profiles": "profile",
    "effect": "action",
    "name": "tool",
    "user": "caller",
    "token": "caller",
}
SHOWN = 60  # characters of a name in an error


class Reader:
    """Reads values of one file; errors name the file, and the rule or limit if it is given."""

    def __init__(self, source: str, rule: int | None = None, limit: int | None = None) -> None:
        self.source = source
        self.rule = rule
        self.limit = limit

    def glob(self, value: Any, label: str) -> str:
        """Return a glob."""
        if isinstance(value, list):
            hint = f"write one rule for each {label}, or a glob such as 'read_*'"
            raise self.error(f"{label} is a list", hint)
        if isinstance(value, dict):
            raise self.error(f"{label} is a table", f'write {label} = "a glob"')
        if not isinstance(value, str):
            raise self.error(f"{label} is {kind_of_value(value)}", "write it in quotes")
        if not value:
            raise self.error(f"{label} is empty, which matches nothing", "'**' is anything")
        if "\0" in value:
            raise self.error(f"{label} contains a NUL, which no rule matches")
        return value

    def texts(self, value: Any, label: str) -> tuple[str, ...]:
        """Return a list of texts."""
        if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            raise self.error(f"{label} must be a list of texts", f'{label} = ["one", "two"]')
        return tuple(value)

    def check_keys(self, table: Mapping[str, Any], allowed: Iterable[str], label: str) -> None:
        """Refuse a key that is not known."""
        allowed = tuple(allowed)
        for key in table:
            if key not in allowed:
                hint = suggestion(key, allowed)
                raise self.error(f"unknown key '{key[:SHOWN]}' in {label}", hint)

    def check_distinct(self, names: Iterable[str], label: str) -> None:
        """Refuse names that differ only in case: one of them is probably a slip."""
        first: dict[str, str] = {}
        for name in names:
            earlier = first.setdefault(name.casefold(), name)
            if earlier != name:
                raise self.error(
                    f"{label} has '{earlier[:SHOWN]}' and '{name[:SHOWN]}', which differ "
                    "in case only",
                    "keep the one that the tool's schema has",
                )

    def error(
        self, reason: str, hint: str | None = None, *, rule: int | None = None
    ) -> PolicyError:
        """Return the error that names this place."""
        return PolicyError(
            reason, source=self.source, rule=rule or self.rule, limit=self.limit, hint=hint
        )


def suggestion(value: Any, choices: Iterable[str]) -> str:
    """Return the choices as a hint, the likely one first."""
    import difflib  # noqa: PLC0415 - slow to load, and most files have no mistake

    choices = tuple(choices)
    synonym = _SYNONYMS.get(value) if isinstance(value, str) else None
    close = [synonym] if synonym in choices else difflib.get_close_matches(str(value), choices, 1)
    names = f"{', '.join(choices[:-1])} or {choices[-1]}"
    return f"did you mean '{close[0]}'? Known: {names}" if close else f"known: {names}"


def shown(value: Any) -> str:
    """Return a text in quotes, cut, and the kind of any other value."""
    return f"'{value[:SHOWN]}'" if isinstance(value, str) else kind_of_value(value)


def kind_of_value(value: Any) -> str:
    """Return the kind of a value in the words of an error."""
    kinds = {bool: "true or false", str: "a text", int: "a number", float: "a number"}
    kinds |= {list: "a list", dict: "a table"}
    return kinds.get(type(value), "a date or a time")
