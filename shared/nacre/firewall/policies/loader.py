"""Reading policy files: strict, because a misspelt key would quietly widen a rule."""

import math
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nacre.core.errors import PolicyError
from nacre.core.limits import MAX_JSON_DEPTH
from nacre.firewall.content.custom_patterns import check_pattern
from nacre.firewall.policies.compiled import policy_of
from nacre.firewall.rules.arguments.sql_statement import VERBS
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.rule import ACTIONS, Action, ArgumentTest, Kind, Matcher, Rule, Wanted
from nacre.firewall.rules.sections import (
    SOURCES,
    InjectionSection,
    NamedPattern,
    SecretsSection,
    Settings,
)
from nacre.firewall.rules.subjects import kind_of


def rules_from_lists(
    written: Sequence[Rule] = (), *, allowed: Iterable[str] = (), disallowed: Iterable[str] = ()
) -> tuple[Rule, ...]:
    """Return all rules in the order in which they are read.

    The written ones keep their numbers; the others are numbered after them. An entry is
    `mcp__server__tool`, with globs if wanted, or `mcp__server` for all of its tools.
    """
    number = len(written)
    first = [
        _rule("deny", tool, "disallowed_tools", place) for place, tool in enumerate(disallowed, 1)
    ]
    last = [_rule("allow", tool, "allowed_tools", place) for place, tool in enumerate(allowed, 1)]
    first = [replace(rule, number=number + place) for place, rule in enumerate(first, 1)]
    number += len(first)
    last = [replace(rule, number=number + place) for place, rule in enumerate(last, 1)]
    return (*first, *written, *last)


def _rule(action: Action, tool: str, listed: str, place: int) -> Rule:
    name = tool
    if tool.startswith("mcp__") and "__" not in tool[5:] and "*" not in tool:
        name = f"{tool}__**"
    return Rule(0, action, name, kind="tool", origin=f"{listed} {place}")


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
_MEANT = {"arg": "args", "arguments": "args", "rules": "rule", "effect": "action", "name": "tool"}
_HEADER = re.compile(r"^\s*\[\[\s*rule\s*\]\]", re.MULTILINE)
_LINE = re.compile(r"\(at line (\d+), column \d+\)")
_SHOWN = 60


def read_policy(path: Path) -> Policy:
    """Load a policy file; PolicyError says what is wrong with it and where."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise PolicyError("is not UTF-8 text", source=str(path)) from error
    except OSError as error:
        raise PolicyError(f"cannot be read: {error.strerror}", source=str(path)) from error
    return load_policy(text, source=str(path))


def load_policy(text: str, *, source: str) -> Policy:
    """Load a policy from its TOML; PolicyError names the rule and what to write instead."""
    return _Loading(source).policy(text)


class _Loading:
    """One file being read; every complaint names it."""

    def __init__(self, source: str) -> None:
        self.source = source

    def policy(self, text: str) -> Policy:
        document = self._document(text)
        self._known(document, _TOP, "the policy")
        tables = document.get("rule", [])
        if isinstance(tables, dict):
            raise self._error("there is one [rule]", hint="write [[rule]], in double brackets")
        if not isinstance(tables, list):
            raise self._error("'rule' must be tables", hint="write [[rule]] above each rule")
        written = [self._rule(table, place) for place, table in enumerate(tables, 1)]
        allowed = self._tools(document, "allowed_tools")
        disallowed = self._tools(document, "disallowed_tools")
        for tool in allowed:
            if tool.startswith(("mcp__*", "*", "?")):
                raise self._error(
                    f"allowed_tools: '{tool}' would allow tools of every server",
                    hint="name the server: mcp__server__tool or mcp__server__*",
                )
        return policy_of(
            source=self.source,
            rules=rules_from_lists(written, allowed=allowed, disallowed=disallowed),
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
            raise self._error(f"is not valid TOML: {error}", rule=rule) from error
        except RecursionError as error:
            raise self._error("nests too deep") from error
        except ValueError as error:  # what TOML allows, and Python does not
            raise self._error("holds a number with too many digits") from error

    def _rule(self, table: Any, place: int) -> Rule:
        if not isinstance(table, dict):
            raise self._error("is not a table", rule=place, hint="write [[rule]] above each rule")
        self._known(table, _RULE, "a rule", place)
        action = table.get("action")
        if action is None:
            raise self._error("has no action", rule=place, hint="allow, deny or prompt")
        if action not in ACTIONS:
            raise self._error(
                f"unknown action {_shown(action)}", rule=place, hint=_meant(action, ACTIONS)
            )
        name, kind, tests = self._about(table, place)
        server = table.get("server")
        description = table.get("description")
        ignores_case = table.get("ignore_case", False)
        if not isinstance(ignores_case, bool):
            raise self._error(
                f"ignore_case is {_kind(ignores_case)}", rule=place, hint="true or false"
            )
        tests = (*tests, *self._tests(table, place))
        if ignores_case and not tests:
            raise self._error(
                "ignore_case is about the globs of args, and there are none",
                rule=place,
                hint="names of tools and servers always match exactly",
            )
        return Rule(
            number=place,
            action=action,
            name=name,
            kind=kind,
            server=None if server is None else self._glob(server, "server", place),
            tests=tuple(replace(test, ignores_case=ignores_case) for test in tests),
            only=self._only(table, tests, place),
            description=None if description is None else self._text(description, place),
            origin=f"rule {place}",
        )

    def _about(
        self, table: Mapping[str, Any], place: int
    ) -> tuple[str, Kind | None, tuple[ArgumentTest, ...]]:
        given = [key for key in _ABOUT if key in table]
        if len(given) != 1:
            said = "has no tool" if not given else f"has {' and '.join(given)}"
            raise self._error(
                said, rule=place, hint="write one of tool, method, resource and prompt"
            )
        key = given[0]
        if key in ("tool", "method"):
            name = self._glob(table[key], key, place)
            return name, "method" if key == "method" else kind_of(name), ()
        argument = "uri" if key == "resource" else "name"
        if argument in table.get("args", {}):
            raise self._error(
                f"has both {key} and args.{argument}", rule=place, hint=f"leave out args.{argument}"
            )
        test = ArgumentTest((argument,), self._wanted(table[key], key, place))
        return ("resources/read" if key == "resource" else "prompts/get"), "method", (test,)

    def _tests(self, table: Mapping[str, Any], place: int) -> tuple[ArgumentTest, ...]:
        args = table.get("args")
        if args is None:
            return ()
        if not isinstance(args, dict):
            raise self._error(
                f"args is {_kind(args)}", rule=place, hint='write args.path = "/some/folder/**"'
            )
        return tuple(self._walk(args, (), place))

    def _walk(
        self, table: Mapping[str, Any], keys: tuple[str, ...], place: int
    ) -> Iterable[ArgumentTest]:
        if not table:
            raise self._error(
                f"{ArgumentTest(keys, ()).path} is empty", rule=place, hint="name an argument"
            )
        if len(keys) > MAX_JSON_DEPTH:
            raise self._error("args nests deeper than any call", rule=place)
        self._distinct(table, ArgumentTest(keys, ()).path, place)
        for key, value in table.items():
            path = ArgumentTest((*keys, key), ())
            if isinstance(value, dict) and _has_words(value):
                yield from self._worded(value, path, place)
            elif not isinstance(value, dict):
                yield ArgumentTest(path.keys, self._wanted(value, path.path, place))
            elif key == "*":
                raise self._error(
                    f"{path.path} stands for every value below it and has no names of its own",
                    rule=place,
                    hint=f'write {path.path} = "a glob"',
                )
            else:
                yield from self._walk(value, path.keys, place)

    def _worded(
        self, table: Mapping[str, Any], path: ArgumentTest, place: int
    ) -> Iterable[ArgumentTest]:
        """Read tests in words: `glob` and one of the matchers, and `optional` for both."""
        what = path.path
        if path.keys[-1] == "*":
            raise self._error(
                f"{what} is every argument, and {' and '.join(table)} is about one",
                rule=place,
                hint="name the argument",
            )
        self._known(table, _ARGUMENT, what, place)
        optional = table.get("optional", False)
        if optional is not True and "optional" in table:
            raise self._error(
                f"{what}.optional is {_shown(optional)}",
                rule=place,
                hint="write true, or leave it out; for an argument inside that is called "
                f"optional, write {what}.optional = [false]",
            )
        matchers = [each for each in _MATCHERS if each in table]
        if len(matchers) > 1 or not (matchers or "glob" in table):
            raise self._error(
                f"{what} has {' and '.join(matchers) or 'nothing that it must look like'}",
                rule=place,
                hint=f"write one of {', '.join(_ARGUMENT[:-1])}; an argument that may be anything "
                "needs no line",
            )
        if "glob" in table:
            wanted = self._wanted(table["glob"], f"{what}.glob", place)
            yield ArgumentTest(path.keys, wanted, optional=optional)
        for matcher in matchers:
            wanted = self._wanted(table[matcher], f"{what}.{matcher}", place)
            for each in wanted:
                self._check_part(each, matcher, f"{what}.{matcher}", place)
            yield ArgumentTest(path.keys, wanted, matcher, optional)

    def _check_part(self, wanted: Wanted, matcher: Matcher, what: str, place: int) -> None:
        if not isinstance(wanted, str):
            raise self._error(f"{what} is {_kind(wanted)}", rule=place, hint="write it in quotes")
        if matcher == "every_address" and not _ADDRESS_GLOB.fullmatch(wanted):
            raise self._error(
                f"{what}: '{wanted[:_SHOWN]}' is no glob of addresses",
                rule=place,
                hint="write '*@example.org' for one domain, '*@*.example.org' for those below it",
            )
        if matcher == "one_statement" and wanted.lower() not in VERBS:
            raise self._error(
                f"{what}: no verb {_shown(wanted)}", rule=place, hint=_meant(wanted.lower(), VERBS)
            )

    def _only(
        self, table: Mapping[str, Any], tests: Iterable[ArgumentTest], place: int
    ) -> tuple[str, ...] | None:
        """Read the names that a call may have, and no others."""
        if "only_args" not in table:
            return None
        names = self._texts(table["only_args"], "only_args", place)
        self._distinct([*names, *table.get("args", {})], "only_args", place)
        for key in table.get("args", {}):
            if key != "*" and key not in names:
                raise self._error(
                    f"only_args leaves out args.{key}, which the rule is about",
                    rule=place,
                    hint=f"add '{key}' to only_args",
                )
        own = (test.keys[0] for test in tests if test.keys[0] != "*")
        return tuple(dict.fromkeys([*names, *own]))

    def _distinct(self, names: Iterable[str], what: str, place: int | None) -> None:
        """Refuse names that differ in case only: one of them is a slip, and nobody sees which."""
        first: dict[str, str] = {}
        for name in names:
            other = first.setdefault(name.casefold(), name)
            if other != name:
                raise self._error(
                    f"{what} has '{other[:_SHOWN]}' and '{name[:_SHOWN]}', which differ "
                    "in case only",
                    rule=place,
                    hint="keep the one that the tool's schema has",
                )

    def _wanted(self, value: Any, what: str, place: int) -> tuple[Wanted, ...]:
        if isinstance(value, list):
            if not value:
                raise self._error(
                    f"{what} is an empty list", rule=place, hint="a list says what is allowed in it"
                )
            return tuple(each for one in value for each in self._one(one, what, place))
        return self._one(value, what, place)

    def _one(self, value: Any, what: str, place: int) -> tuple[Wanted, ...]:
        if isinstance(value, str):
            return (self._glob(value, what, place),)
        if isinstance(value, (bool, int)):
            return (value,)
        if isinstance(value, float) and math.isfinite(value):
            return (value,)
        raise self._error(
            f"{what} is {_kind(value)}",
            rule=place,
            hint="a text (a glob), a number, true, false, or a list of these",
        )

    def _glob(self, value: Any, what: str, place: int | None) -> str:
        if isinstance(value, list):
            hint = f"write one rule for each {what}, or a glob such as 'read_*'"
            raise self._error(f"{what} is a list", rule=place, hint=hint)
        if isinstance(value, dict):
            raise self._error(f"{what} is a table", rule=place, hint=f'write {what} = "a glob"')
        if not isinstance(value, str):
            raise self._error(f"{what} is {_kind(value)}", rule=place, hint="write it in quotes")
        if not value:
            raise self._error(
                f"{what} is empty, which matches nothing", rule=place, hint="'**' is anything"
            )
        if "\0" in value:
            raise self._error(f"{what} holds a NUL, which no rule matches", rule=place)
        return value

    def _text(self, value: Any, place: int) -> str:
        if not isinstance(value, str) or not value.strip():
            raise self._error(
                f"description is {_kind(value)}", rule=place, hint="a sentence, or leave it out"
            )
        return value

    def _tools(self, document: Mapping[str, Any], key: str) -> list[str]:
        value = document.get(key, [])
        if not isinstance(value, list):
            raise self._error(f"{key} is {_kind(value)}", hint=f'write {key} = ["mcp__a__b"]')
        return [self._glob(each, f"{key}[{place}]", None) for place, each in enumerate(value)]

    def _injection(self, table: Any) -> InjectionSection:
        given = InjectionSection()
        keys = ("action", "sources", "builtin", "without", "patterns")
        self._section(table, "injection", keys)
        sources = self._texts(table.get("sources", list(given.sources)), "injection.sources")
        for each in sources:
            if each not in SOURCES:
                raise self._error(
                    f"injection.sources: unknown source {_shown(each)}", hint=_meant(each, SOURCES)
                )
        actions = ("deny", "prompt", "redact", "off")
        return InjectionSection(
            action=self._choice(table, "injection", "action", actions, given.action),
            sources=tuple(each for each in SOURCES if each in sources),
            builtin=self._flag(table, "injection", "builtin"),
            without=self._without(table, "injection"),
            patterns=self._patterns(table.get("patterns", {}), "injection.patterns"),
        )

    def _secrets(self, table: Any) -> SecretsSection:
        keys = ("action", "builtin", "cards", "ibans", "without", "patterns")
        self._section(table, "secrets", keys)
        actions = ("redact", "deny", "off")
        return SecretsSection(
            action=self._choice(table, "secrets", "action", actions, SecretsSection().action),
            builtin=self._flag(table, "secrets", "builtin"),
            cards=self._flag(table, "secrets", "cards", given=False),
            ibans=self._flag(table, "secrets", "ibans", given=False),
            without=self._without(table, "secrets"),
            patterns=self._patterns(table.get("patterns", {}), "secrets.patterns"),
        )

    def _settings(self, table: Any) -> Settings:
        self._section(table, "settings", (*_CHOICES, "approval_seconds", "wait_seconds"))
        given = Settings()
        lives = self._seconds(table, "approval_seconds", given.approval_seconds, least=1)
        waits = self._seconds(table, "wait_seconds", given.wait_seconds, least=0)
        chosen = {
            key: self._choice(table, "settings", key, choices, getattr(given, key))
            for key, choices in _CHOICES.items()
        }
        return Settings(approval_seconds=lives, wait_seconds=waits, **chosen)

    def _seconds(self, table: Mapping[str, Any], key: str, given: int, *, least: int) -> int:
        value = table.get(key, given)
        if type(value) is not int or not least <= value <= 3600:
            raise self._error(f"settings.{key} must be a whole number from {least} to 3600")
        return value

    def _section(self, table: Any, name: str, known: tuple[str, ...]) -> None:
        if not isinstance(table, dict):
            raise self._error(f"{name} is {_kind(table)}", hint=f"write [{name}]")
        self._known(table, known, f"[{name}]")

    def _choice(
        self, table: Mapping[str, Any], section: str, key: str, choices: tuple[str, ...], given: str
    ) -> Any:
        value = table.get(key, given)
        if value not in choices:
            raise self._error(
                f"{section}.{key}: unknown value {_shown(value)}", hint=_meant(value, choices)
            )
        return value

    def _flag(
        self, table: Mapping[str, Any], section: str, key: str, *, given: bool = True
    ) -> bool:
        value = table.get(key, given)
        if not isinstance(value, bool):
            raise self._error(f"{section}.{key} is {_kind(value)}", hint="true or false")
        return value

    def _texts(self, value: Any, what: str, rule: int | None = None) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise self._error(
                f"{what} must be a list of texts", rule=rule, hint=f'{what} = ["one", "two"]'
            )
        return tuple(value)

    def _without(self, table: Mapping[str, Any], section: str) -> tuple[str, ...]:
        names = self._texts(table.get("without", []), f"{section}.without")
        known = _built_in(section) if names else frozenset()
        for name in names:
            if name not in known:
                raise self._error(
                    f"{section}.without: no built-in rule {_shown(name)}",
                    hint=_meant(name, sorted(known)),
                )
        return names

    def _patterns(self, table: Any, what: str) -> tuple[NamedPattern, ...]:
        if not isinstance(table, dict):
            raise self._error(
                f"{what} is {_kind(table)}", hint=f"write [{what}], then name = 'regex'"
            )
        found = []
        self._distinct(table, what, None)
        for name, text in table.items():
            if not isinstance(text, str) or not text:
                raise self._error(f"{what}.{name} must be a regular expression in quotes")
            wrong = check_pattern(text)
            if wrong is not None:
                raise self._error(f"{what}.{name} {wrong}")
            found.append(NamedPattern(name, text))
        return tuple(found)

    def _known(
        self, table: Mapping[str, Any], known: Iterable[str], what: str, rule: int | None = None
    ) -> None:
        known = tuple(known)
        for key in table:
            if key not in known:
                raise self._error(
                    f"unknown key '{key[:_SHOWN]}' in {what}", rule=rule, hint=_meant(key, known)
                )

    def _error(
        self, reason: str, *, rule: int | None = None, hint: str | None = None
    ) -> PolicyError:
        return PolicyError(reason, source=self.source, rule=rule, hint=hint)


def _has_words(table: Mapping[str, Any]) -> bool:
    """Tell whether a table says in words what an argument must look like, and names none in it."""
    return isinstance(table.get("optional"), bool) or any(each in table for each in _MATCHERS)


def _built_in(section: str) -> frozenset[str]:
    # Servers wait for this module when they start, and few policies name such a rule.
    from nacre.firewall.content import secrets  # noqa: PLC0415
    from nacre.firewall.content.injection import rules  # noqa: PLC0415

    return rules.IDS if section == "injection" else secrets.IDS


def _meant(said: Any, known: Iterable[str]) -> str:
    import difflib  # noqa: PLC0415 - slow to load, and most files hold no mistake

    known = tuple(known)
    meant = _MEANT.get(said) if isinstance(said, str) else None
    close = [meant] if meant in known else difflib.get_close_matches(str(said), known, 1)
    listed = f"{', '.join(known[:-1])} or {known[-1]}"
    return f"did you mean '{close[0]}'? Known: {listed}" if close else f"known: {listed}"


def _shown(value: Any) -> str:
    return f"'{value[:_SHOWN]}'" if isinstance(value, str) else _kind(value)


def _kind(value: Any) -> str:
    kinds = {bool: "true or false", str: "a text", int: "a number", float: "a number"}
    kinds |= {list: "a list", dict: "a table"}
    return kinds.get(type(value), "a date or a time")


def _rule_at(text: str, line: int) -> int | None:
    before = "\n".join(text.splitlines()[:line])
    return len(_HEADER.findall(before)) or None
