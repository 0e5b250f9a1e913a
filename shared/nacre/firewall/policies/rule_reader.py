"""Reads one rule of a policy file."""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from nacre.core.lazy_dataclasses import replace
from nacre.core.limits import MAX_JSON_DEPTH, MAX_WINDOW_HOURS
from nacre.firewall.policies.value_reader import SHOWN, Reader, kind_of_value, shown, suggestion
from nacre.firewall.rules.arguments.sql_statement import VERBS
from nacre.firewall.rules.policy import kind_of
from nacre.firewall.rules.received_origins import KINDS
from nacre.firewall.rules.rule import ACTIONS, Action, ArgumentTest, Kind, Matcher, Rule, Scalar

_ABOUT = ("tool", "method", "resource", "prompt")
CALL_KEYS = (*_ABOUT, "server", "args", "only_args", "ignore_case", "description")
_RECEIVED = ("tainted", "origin", "window")
_WINDOW = re.compile(r"([0-9]{1,4}) (hour|day)s?")
_MATCHERS: tuple[Matcher, ...] = ("every_address", "one_command", "one_statement")
_ARGUMENT = ("glob", *_MATCHERS, "optional")
_HOME_VARIABLE = re.compile(r"^(?:\$HOME|\$\{HOME\})(?=/|$)")
_ADDRESS_GLOB = re.compile(r"[^@]+@(?:\*|(?:\*\.)?[^@*?]+)")


class RuleReader(Reader):
    """Reads one rule."""

    def read(self, table: Any) -> Rule:
        """Return the rule of a table."""
        assert self.rule is not None
        if not isinstance(table, dict):
            raise self.error("is not a table", "write [[rule]] above each rule")
        self.check_keys(table, ("action", *CALL_KEYS, *_RECEIVED), "a rule")
        action = table.get("action")
        if action is None:
            raise self.error("has no action", "allow, deny or prompt")
        if action not in ACTIONS:
            raise self.error(f"unknown action {shown(action)}", suggestion(action, ACTIONS))
        rule = self.calls(table, action, self.rule, f"rule {self.rule}")
        if not any(key in table for key in _RECEIVED):
            return rule
        tainted, received = self._tainted(table), self._received(table)
        return replace(rule, tainted=tainted, received=received, window=self._window(table))

    def calls(self, table: Mapping[str, Any], action: Action, number: int, origin: str) -> Rule:
        """Return the rule that matches the calls which a table describes."""
        name, kind, tests = self._about(table)
        server = table.get("server")
        ignores_case = table.get("ignore_case", False)
        if not isinstance(ignores_case, bool):
            raise self.error(f"ignore_case is {kind_of_value(ignores_case)}", "true or false")
        tests = (*tests, *self._tests(table))
        if ignores_case and not tests:
            raise self.error(
                "ignore_case is about the globs of args, and there are none",
                "names of tools and servers always match exactly",
            )
        return Rule(
            number=number,
            action=action,
            name=name,
            kind=kind,
            server=None if server is None else self.glob(server, "server"),
            tests=tuple(replace(test, ignores_case=ignores_case) for test in tests),
            only=self._only(table, tests),
            description=self._description(table.get("description")),
            origin=origin,
        )

    def _about(self, table: Mapping[str, Any]) -> tuple[str, Kind | None, tuple[ArgumentTest, ...]]:
        present = [key for key in _ABOUT if key in table]
        if len(present) != 1:
            reason = "has no tool" if not present else f"has {' and '.join(present)}"
            raise self.error(reason, "write one of tool, method, resource and prompt")
        key = present[0]
        if key in ("tool", "method"):
            name = self.glob(table[key], key)
            return name, "method" if key == "method" else kind_of(name), ()
        argument = "uri" if key == "resource" else "name"
        if argument in table.get("args", {}):
            raise self.error(f"has both {key} and args.{argument}", f"leave out args.{argument}")
        test = ArgumentTest((argument,), self._values(table[key], key))
        return ("resources/read" if key == "resource" else "prompts/get"), "method", (test,)

    def _tests(self, table: Mapping[str, Any]) -> tuple[ArgumentTest, ...]:
        args = table.get("args")
        if args is None:
            return ()
        if not isinstance(args, dict):
            raise self.error(
                f"args is {kind_of_value(args)}", 'write args.path = "/some/folder/**"'
            )
        return tuple(self._walk(args, ()))

    def _walk(self, table: Mapping[str, Any], keys: tuple[str, ...]) -> Iterable[ArgumentTest]:
        label = ArgumentTest(keys, ()).path
        if not table:
            raise self.error(f"{label} is empty", "name an argument")
        if len(keys) > MAX_JSON_DEPTH:
            raise self.error("args nests deeper than any call")
        self.check_distinct(table, label)
        for key, value in table.items():
            place = ArgumentTest((*keys, key), ())
            if isinstance(value, dict) and _has_matchers(value):
                yield from self._matchers(value, place)
            elif not isinstance(value, dict):
                yield ArgumentTest(place.keys, self._values(value, place.path))
            elif key == "*":
                raise self.error(
                    f"{place.path} matches every value below it, so it cannot have names",
                    f'write {place.path} = "a glob"',
                )
            else:
                yield from self._walk(value, place.keys)

    def _matchers(self, table: Mapping[str, Any], place: ArgumentTest) -> Iterable[ArgumentTest]:
        """Read the tests of a table with `glob`, one of the matchers, or both; and `optional`."""
        label = place.path
        if place.keys[-1] == "*":
            raise self.error(
                f"{label} is every argument, and {' and '.join(table)} is about one",
                "name the argument",
            )
        self.check_keys(table, _ARGUMENT, label)
        optional = table.get("optional", False)
        if optional is not True and "optional" in table:
            raise self.error(
                f"{label}.optional is {shown(optional)}",
                "write true, or leave it out; for an argument inside that is called "
                f"optional, write {label}.optional = [false]",
            )
        matchers = [matcher for matcher in _MATCHERS if matcher in table]
        if len(matchers) > 1 or not (matchers or "glob" in table):
            raise self.error(
                f"{label} has {' and '.join(matchers) or 'no glob and no matcher'}",
                f"write one of {', '.join(_ARGUMENT[:-1])}; an argument that may be anything "
                "needs no line",
            )
        if "glob" in table:
            values = self._values(table["glob"], f"{label}.glob")
            yield ArgumentTest(place.keys, values, optional=optional)
        for matcher in matchers:
            values = self._values(table[matcher], f"{label}.{matcher}")
            for value in values:
                self._check_part(value, matcher, f"{label}.{matcher}")
            yield ArgumentTest(place.keys, values, matcher, optional)

    def _check_part(self, value: Scalar, matcher: Matcher, label: str) -> None:
        if not isinstance(value, str):
            raise self.error(f"{label} is {kind_of_value(value)}", "write it in quotes")
        if matcher == "every_address" and not _ADDRESS_GLOB.fullmatch(value):
            raise self.error(
                f"{label}: '{value[:SHOWN]}' is not a glob of addresses",
                "write '*@example.org' for one domain, '*@*.example.org' for those below it",
            )
        if matcher == "one_statement" and value.lower() not in VERBS:
            raise self.error(f"{label}: no verb {shown(value)}", suggestion(value.lower(), VERBS))

    def _only(
        self, table: Mapping[str, Any], tests: Iterable[ArgumentTest]
    ) -> tuple[str, ...] | None:
        """Return the only argument names that a call may have, or None without `only_args`."""
        if "only_args" not in table:
            return None
        names = self.texts(table["only_args"], "only_args")
        self.check_distinct([*names, *table.get("args", {})], "only_args")
        for key in table.get("args", {}):
            if key != "*" and key not in names:
                raise self.error(
                    f"only_args leaves out args.{key}, which the rule is about",
                    f"add '{key}' to only_args",
                )
        tested = (test.keys[0] for test in tests if test.keys[0] != "*")
        return tuple(dict.fromkeys([*names, *tested]))

    def _tainted(self, table: Mapping[str, Any]) -> bool | None:
        """Return whether the rule is about callers with results of external servers, or not."""
        tainted = table.get("tainted")
        if tainted is not None and not isinstance(tainted, bool):
            raise self.error(
                f"tainted is {kind_of_value(tainted)}",
                "true for calls after results of external servers, false for calls before any",
            )
        return tainted

    def _received(self, table: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the origins of which the caller must have received one."""
        if "origin" not in table:
            return ()
        origins = table["origin"]
        patterns = self.texts([origins] if isinstance(origins, str) else origins, "origin")
        if not patterns:
            raise self.error("origin is an empty list", "name an origin, or leave it out")
        for pattern in patterns:
            kind, colon, name = pattern.partition(":")
            if kind not in KINDS:
                raise self.error(
                    f"origin: unknown origin {shown(pattern)}", suggestion(kind, KINDS)
                )
            if colon:
                self.glob(name, f"the name in origin '{kind}:'")
        return patterns

    def _window(self, table: Mapping[str, Any]) -> int | None:
        """Return for how many hours something counts that a client of the Being has received."""
        if "window" not in table:
            return None
        if "tainted" not in table and "origin" not in table:
            raise self.error(
                "window is about what was received, and the rule asks for nothing received",
                "write tainted or origin too",
            )
        window = table["window"]
        parts = _WINDOW.fullmatch(window) if isinstance(window, str) else None
        hours = int(parts[1]) * (24 if parts[2] == "day" else 1) if parts else 0
        if not 1 <= hours <= MAX_WINDOW_HOURS:
            written = shown(window) if isinstance(window, str) else kind_of_value(window)
            raise self.error(
                f"window is {written}",
                f"write hours or days, at most {MAX_WINDOW_HOURS // 24} days, such as '7 days'",
            )
        return hours

    def _values(self, value: Any, label: str) -> tuple[Scalar, ...]:
        if not isinstance(value, list):
            return (self._scalar(value, label),)
        if not value:
            raise self.error(f"{label} is an empty list", "a list says what is allowed in it")
        return tuple([self._scalar(item, label) for item in value])

    def _scalar(self, value: Any, label: str) -> Scalar:
        if isinstance(value, str):
            return _HOME_VARIABLE.sub("~", self.glob(value, label))
        if isinstance(value, (bool, int)) or (isinstance(value, float) and math.isfinite(value)):
            return value
        hint = "a text (a glob), a number, true, false, or a list of these"
        raise self.error(f"{label} is {kind_of_value(value)}", hint)

    def _description(self, value: Any) -> str | None:
        if value is None or (isinstance(value, str) and value.strip()):
            return value
        raise self.error(f"description is {kind_of_value(value)}", "a sentence, or leave it out")


def _has_matchers(table: Mapping[str, Any]) -> bool:
    """Tell whether a table describes one argument, rather than naming arguments inside it."""
    return isinstance(table.get("optional"), bool) or any(key in table for key in _MATCHERS)
