"""Reads policy files strictly, because ignoring a misspelt key could widen a rule."""

import math
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nacre.core.errors import PolicyError
from nacre.core.lazy_dataclasses import replace
from nacre.core.limits import MAX_JSON_DEPTH
from nacre.firewall.content.custom_patterns import check_pattern
from nacre.firewall.policies.compiled import policy_of
from nacre.firewall.rules.arguments.sql_statement import VERBS
from nacre.firewall.rules.policy import Policy, kind_of
from nacre.firewall.rules.rule import ACTIONS, Action, ArgumentTest, Kind, Matcher, Rule, Scalar
from nacre.firewall.rules.sections import (
    SOURCES,
    InjectionSection,
    NamedPattern,
    SecretsSection,
    Settings,
)


def rules_from_lists(
    rules: Sequence[Rule] = (), *, allowed: Iterable[str] = (), disallowed: Iterable[str] = ()
) -> tuple[Rule, ...]:
    """Return all rules in the order of their evaluation.

    The given rules keep their numbers; the others are numbered after them. An entry is
    `mcp__server__tool`, which may have globs, or `mcp__server` for all of its tools.
    """
    denied = [
        _listed_rule("deny", "disallowed_tools", *entry) for entry in enumerate(disallowed, 1)
    ]
    allows = [_listed_rule("allow", "allowed_tools", *entry) for entry in enumerate(allowed, 1)]
    numbered = [
        replace(rule, number=number)
        for number, rule in enumerate([*denied, *allows], len(rules) + 1)
    ]
    return (*numbered[: len(denied)], *rules, *numbered[len(denied) :])


def _listed_rule(action: Action, key: str, position: int, tool: str) -> Rule:
    name = tool
    if tool.startswith("mcp__") and "__" not in tool[5:] and "*" not in tool:
        name = f"{tool}__**"
    return Rule(0, action, name, kind="tool", origin=f"{key} {position}")


_TOP = ("rule", "allowed_tools", "disallowed_tools", "injection", "secrets", "settings")
_ABOUT = ("tool", "method", "resource", "prompt")
_RULE = ("action", *_ABOUT, "server", "args", "only_args", "ignore_case", "description")
_MATCHERS: tuple[Matcher, ...] = ("every_address", "one_command", "one_statement")
_ARGUMENT = ("glob", *_MATCHERS, "optional")
_ADDRESS_GLOB = re.compile(r"[^@]+@(?:\*|(?:\*\.)?[^@*?]+)")
_CHOICES: dict[str, tuple[str, ...]] = {
    "mode": ("enforce", "monitor"),
    "deny_style": ("result", "error"),
    "approver": ("user", "operator"),
    "pins": ("quarantine", "record", "off"),
}
_SYNONYMS = {
    "arg": "args",
    "arguments": "args",
    "rules": "rule",
    "effect": "action",
    "name": "tool",
}
_HEADER = re.compile(r"^\s*\[\[\s*rule\s*\]\]", re.MULTILINE)
_LINE = re.compile(r"\(at line (\d+), column \d+\)")
_SHOWN = 60  # characters of a name in an error


def read_policy(path: Path) -> Policy:
    """Load a policy file; raise PolicyError if it is wrong."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise PolicyError("is not UTF-8 text", source=str(path)) from error
    except OSError as error:
        raise PolicyError(f"cannot be read: {error.strerror}", source=str(path)) from error
    return load_policy(text, source=str(path))


def load_policy(text: str, *, source: str) -> Policy:
    """Load a policy from its TOML; raise PolicyError with the rule and a hint if it is wrong."""
    return _PolicyReader(source).policy(text)


class _Reader:
    """Reads values of one file; errors name the file, and the rule if `rule` is given."""

    def __init__(self, source: str, rule: int | None = None) -> None:
        self.source = source
        self.rule = rule

    def glob(self, value: Any, label: str) -> str:
        if isinstance(value, list):
            hint = f"write one rule for each {label}, or a glob such as 'read_*'"
            raise self.error(f"{label} is a list", hint)
        if isinstance(value, dict):
            raise self.error(f"{label} is a table", f'write {label} = "a glob"')
        if not isinstance(value, str):
            raise self.error(f"{label} is {_kind(value)}", "write it in quotes")
        if not value:
            raise self.error(f"{label} is empty, which matches nothing", "'**' is anything")
        if "\0" in value:
            raise self.error(f"{label} contains a NUL, which no rule matches")
        return value

    def texts(self, value: Any, label: str) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            raise self.error(f"{label} must be a list of texts", f'{label} = ["one", "two"]')
        return tuple(value)

    def check_keys(self, table: Mapping[str, Any], allowed: Iterable[str], label: str) -> None:
        allowed = tuple(allowed)
        for key in table:
            if key not in allowed:
                hint = _suggestion(key, allowed)
                raise self.error(f"unknown key '{key[:_SHOWN]}' in {label}", hint)

    def check_distinct(self, names: Iterable[str], label: str) -> None:
        """Refuse names that differ only in case: one of them is probably a slip."""
        first: dict[str, str] = {}
        for name in names:
            earlier = first.setdefault(name.casefold(), name)
            if earlier != name:
                raise self.error(
                    f"{label} has '{earlier[:_SHOWN]}' and '{name[:_SHOWN]}', which differ "
                    "in case only",
                    "keep the one that the tool's schema has",
                )

    def error(
        self, reason: str, hint: str | None = None, *, rule: int | None = None
    ) -> PolicyError:
        return PolicyError(reason, source=self.source, rule=rule or self.rule, hint=hint)


class _PolicyReader(_Reader):
    """Reads a whole file: its rules and its other sections."""

    def policy(self, text: str) -> Policy:
        document = self._document(text)
        self.check_keys(document, _TOP, "the policy")
        tables = document.get("rule", [])
        if isinstance(tables, dict):
            raise self.error("there is one [rule]", "write [[rule]], in double brackets")
        if not isinstance(tables, list):
            raise self.error("'rule' must be tables", "write [[rule]] above each rule")
        rules = [
            _RuleReader(self.source, number).read(table) for number, table in enumerate(tables, 1)
        ]
        allowed = self._tools(document, "allowed_tools")
        disallowed = self._tools(document, "disallowed_tools")
        for tool in allowed:
            if tool.startswith(("mcp__*", "*", "?")):
                raise self.error(
                    f"allowed_tools: '{tool}' would allow tools of every server",
                    "name the server: mcp__server__tool or mcp__server__*",
                )
        return policy_of(
            source=self.source,
            rules=rules_from_lists(rules, allowed=allowed, disallowed=disallowed),
            injection=self._injection(document.get("injection", {})),
            secrets=self._secrets(document.get("secrets", {})),
            settings=self._settings(document.get("settings", {})),
        )

    def _document(self, text: str) -> dict[str, Any]:
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            line = _LINE.search(str(error))
            rule = _rule_at(text, int(line[1])) if line else None
            raise self.error(f"is not valid TOML: {error}", rule=rule) from error
        except RecursionError as error:
            raise self.error("nests too deep") from error
        except ValueError as error:  # valid TOML that Python cannot read
            raise self.error("contains a number with too many digits") from error

    def _tools(self, document: Mapping[str, Any], key: str) -> list[str]:
        value = document.get(key, [])
        if not isinstance(value, list):
            raise self.error(f"{key} is {_kind(value)}", f'write {key} = ["mcp__a__b"]')
        return [self.glob(tool, f"{key}[{place}]") for place, tool in enumerate(value)]

    def _injection(self, table: Any) -> InjectionSection:
        defaults = InjectionSection()
        keys = ("action", "sources", "builtin", "without", "patterns")
        self._check_section(table, "injection", keys)
        sources = self.texts(table.get("sources", list(defaults.sources)), "injection.sources")
        for source in sources:
            if source not in SOURCES:
                hint = _suggestion(source, SOURCES)
                raise self.error(f"injection.sources: unknown source {_shown(source)}", hint)
        actions = ("deny", "prompt", "redact", "off")
        return InjectionSection(
            action=self._choice(table, "injection", "action", actions, defaults.action),
            sources=tuple(source for source in SOURCES if source in sources),
            builtin=self._flag(table, "injection", "builtin"),
            without=self._without(table, "injection"),
            patterns=self._patterns(table.get("patterns", {}), "injection.patterns"),
        )

    def _secrets(self, table: Any) -> SecretsSection:
        keys = ("action", "builtin", "cards", "ibans", "without", "patterns")
        self._check_section(table, "secrets", keys)
        actions = ("redact", "deny", "off")
        return SecretsSection(
            action=self._choice(table, "secrets", "action", actions, SecretsSection().action),
            builtin=self._flag(table, "secrets", "builtin"),
            cards=self._flag(table, "secrets", "cards", default=False),
            ibans=self._flag(table, "secrets", "ibans", default=False),
            without=self._without(table, "secrets"),
            patterns=self._patterns(table.get("patterns", {}), "secrets.patterns"),
        )

    def _settings(self, table: Any) -> Settings:
        self._check_section(table, "settings", (*_CHOICES, "approval_seconds", "wait_seconds"))
        defaults = Settings()
        approval = self._seconds(table, "approval_seconds", defaults.approval_seconds, least=1)
        wait = self._seconds(table, "wait_seconds", defaults.wait_seconds, least=0)
        chosen = {
            key: self._choice(table, "settings", key, choices, getattr(defaults, key))
            for key, choices in _CHOICES.items()
        }
        return Settings(approval_seconds=approval, wait_seconds=wait, **chosen)

    def _seconds(self, table: Mapping[str, Any], key: str, default: int, *, least: int) -> int:
        value = table.get(key, default)
        if type(value) is not int or not least <= value <= 3600:
            raise self.error(f"settings.{key} must be a whole number from {least} to 3600")
        return value

    def _check_section(self, table: Any, name: str, allowed: tuple[str, ...]) -> None:
        if not isinstance(table, dict):
            raise self.error(f"{name} is {_kind(table)}", f"write [{name}]")
        self.check_keys(table, allowed, f"[{name}]")

    def _choice(
        self,
        table: Mapping[str, Any],
        section: str,
        key: str,
        choices: tuple[str, ...],
        default: str,
    ) -> Any:
        value = table.get(key, default)
        if value not in choices:
            hint = _suggestion(value, choices)
            raise self.error(f"{section}.{key}: unknown value {_shown(value)}", hint)
        return value

    def _flag(
        self, table: Mapping[str, Any], section: str, key: str, *, default: bool = True
    ) -> bool:
        value = table.get(key, default)
        if not isinstance(value, bool):
            raise self.error(f"{section}.{key} is {_kind(value)}", "true or false")
        return value

    def _without(self, table: Mapping[str, Any], section: str) -> tuple[str, ...]:
        names = self.texts(table.get("without", []), f"{section}.without")
        built_in = _built_in(section) if names else frozenset()
        for name in names:
            if name not in built_in:
                hint = _suggestion(name, sorted(built_in))
                raise self.error(f"{section}.without: no built-in rule {_shown(name)}", hint)
        return names

    def _patterns(self, table: Any, label: str) -> tuple[NamedPattern, ...]:
        if not isinstance(table, dict):
            raise self.error(f"{label} is {_kind(table)}", f"write [{label}], then name = 'regex'")
        self.check_distinct(table, label)
        for name, text in table.items():
            if not isinstance(text, str) or not text:
                raise self.error(f"{label}.{name} must be a regular expression in quotes")
            problem = check_pattern(text)
            if problem is not None:
                raise self.error(f"{label}.{name} {problem}")
        return tuple(NamedPattern(name, text) for name, text in table.items())


class _RuleReader(_Reader):
    """Reads one rule."""

    def read(self, table: Any) -> Rule:
        assert self.rule is not None
        if not isinstance(table, dict):
            raise self.error("is not a table", "write [[rule]] above each rule")
        self.check_keys(table, _RULE, "a rule")
        action = table.get("action")
        if action is None:
            raise self.error("has no action", "allow, deny or prompt")
        if action not in ACTIONS:
            raise self.error(f"unknown action {_shown(action)}", _suggestion(action, ACTIONS))
        name, kind, tests = self._about(table)
        server = table.get("server")
        ignores_case = table.get("ignore_case", False)
        if not isinstance(ignores_case, bool):
            raise self.error(f"ignore_case is {_kind(ignores_case)}", "true or false")
        tests = (*tests, *self._tests(table))
        if ignores_case and not tests:
            raise self.error(
                "ignore_case is about the globs of args, and there are none",
                "names of tools and servers always match exactly",
            )
        return Rule(
            number=self.rule,
            action=action,
            name=name,
            kind=kind,
            server=None if server is None else self.glob(server, "server"),
            tests=tuple(replace(test, ignores_case=ignores_case) for test in tests),
            only=self._only(table, tests),
            description=self._description(table.get("description")),
            origin=f"rule {self.rule}",
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
            raise self.error(f"args is {_kind(args)}", 'write args.path = "/some/folder/**"')
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
                f"{label}.optional is {_shown(optional)}",
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
            raise self.error(f"{label} is {_kind(value)}", "write it in quotes")
        if matcher == "every_address" and not _ADDRESS_GLOB.fullmatch(value):
            raise self.error(
                f"{label}: '{value[:_SHOWN]}' is not a glob of addresses",
                "write '*@example.org' for one domain, '*@*.example.org' for those below it",
            )
        if matcher == "one_statement" and value.lower() not in VERBS:
            raise self.error(f"{label}: no verb {_shown(value)}", _suggestion(value.lower(), VERBS))

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

    def _values(self, value: Any, label: str) -> tuple[Scalar, ...]:
        if not isinstance(value, list):
            return (self._scalar(value, label),)
        if not value:
            raise self.error(f"{label} is an empty list", "a list says what is allowed in it")
        return tuple([self._scalar(item, label) for item in value])

    def _scalar(self, value: Any, label: str) -> Scalar:
        if isinstance(value, str):
            return self.glob(value, label)
        if isinstance(value, (bool, int)) or (isinstance(value, float) and math.isfinite(value)):
            return value
        hint = "a text (a glob), a number, true, false, or a list of these"
        raise self.error(f"{label} is {_kind(value)}", hint)

    def _description(self, value: Any) -> str | None:
        if value is None or (isinstance(value, str) and value.strip()):
            return value
        raise self.error(f"description is {_kind(value)}", "a sentence, or leave it out")


def _has_matchers(table: Mapping[str, Any]) -> bool:
    """Tell whether a table describes one argument, rather than naming arguments inside it."""
    return isinstance(table.get("optional"), bool) or any(key in table for key in _MATCHERS)


def _built_in(section: str) -> frozenset[str]:
    # Imported here: few policies name such a rule, and servers load this module when they start.
    from nacre.firewall.content import secrets  # noqa: PLC0415
    from nacre.firewall.content.injection import rules  # noqa: PLC0415

    return rules.IDS if section == "injection" else secrets.IDS


def _suggestion(value: Any, choices: Iterable[str]) -> str:
    import difflib  # noqa: PLC0415 - slow to load, and most files have no mistake

    choices = tuple(choices)
    synonym = _SYNONYMS.get(value) if isinstance(value, str) else None
    close = [synonym] if synonym in choices else difflib.get_close_matches(str(value), choices, 1)
    names = f"{', '.join(choices[:-1])} or {choices[-1]}"
    return f"did you mean '{close[0]}'? Known: {names}" if close else f"known: {names}"


def _shown(value: Any) -> str:
    return f"'{value[:_SHOWN]}'" if isinstance(value, str) else _kind(value)


def _kind(value: Any) -> str:
    kinds = {bool: "true or false", str: "a text", int: "a number", float: "a number"}
    kinds |= {list: "a list", dict: "a table"}
    return kinds.get(type(value), "a date or a time")


def _rule_at(text: str, line: int) -> int | None:
    before = "\n".join(text.splitlines()[:line])
    return len(_HEADER.findall(before)) or None
