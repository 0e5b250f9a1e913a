"""Reads policy files strictly, because ignoring a misspelt key could widen a rule."""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nacre.core.errors import PolicyError
from nacre.core.lazy_dataclasses import replace
from nacre.firewall.content.custom_patterns import check_pattern
from nacre.firewall.policies.compiled import DISALLOWED, policy_of
from nacre.firewall.policies.rule_reader import RuleReader
from nacre.firewall.policies.value_reader import Reader, kind_of_value, shown, suggestion
from nacre.firewall.rules.limit import Limit
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.rule import Action, Rule
from nacre.firewall.rules.sections import (
    SOURCES,
    InjectionSection,
    NamedPattern,
    SecretsSection,
    Settings,
)

if TYPE_CHECKING:
    from nacre.firewall.policies.profile_reader import Parts


def rules_from_lists(
    rules: Sequence[Rule] = (), *, allowed: Iterable[str] = (), disallowed: Iterable[str] = ()
) -> tuple[Rule, ...]:
    """Return all rules in the order of their evaluation.

    The given rules keep their numbers; the others are numbered after them. An entry is
    `mcp__server__tool`, which may have globs, or `mcp__server` for all of its tools.
    """
    denied = [_listed_rule("deny", DISALLOWED, *entry) for entry in enumerate(disallowed, 1)]
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


_TOP = (
    *("rule", "limit", "profile", "allowed_tools", "disallowed_tools"),
    *("injection", "secrets", "settings"),
)
_CHOICES: dict[str, tuple[str, ...]] = {
    "mode": ("enforce", "monitor"),
    "deny_style": ("result", "error"),
    "approver": ("user", "operator"),
    "pins": ("quarantine", "record", "off"),
}
_HEADER = re.compile(r"^\s*\[\[\s*rule\s*\]\]", re.MULTILINE)
_LINE = re.compile(r"\(at line (\d+), column \d+\)")


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


class _PolicyReader(Reader):
    """Reads a whole file: its rules and its other sections."""

    def policy(self, text: str) -> Policy:
        document = self._document(text)
        self.check_keys(document, _TOP, "the policy")
        rules = [
            RuleReader(self.source, number).read(table)
            for number, table in enumerate(self._tables(document, "rule"), 1)
        ]
        allowed = self._tools(document, "allowed_tools")
        disallowed = self._tools(document, "disallowed_tools")
        for tool in allowed:
            if tool.startswith(("mcp__*", "*", "?")):
                raise self.error(
                    f"allowed_tools: '{tool}' would allow tools of every server",
                    "name the server: mcp__server__tool or mcp__server__*",
                )
        all_rules = rules_from_lists(rules, allowed=allowed, disallowed=disallowed)
        return policy_of(
            source=self.source,
            rules=all_rules,
            injection=self._injection(document.get("injection", {})),
            secrets=self._secrets(document.get("secrets", {})),
            settings=self._settings(document.get("settings", {})),
            limits=self._limits(self._tables(document, "limit")),
            profiles=self._profiles(document.get("profile"), len(all_rules) + 1),
        )

    def _profiles(self, tables: Any, first: int) -> "list[Parts]":
        if tables is None:
            return []
        # Few policies have profiles, and servers load this module when they start.
        from nacre.firewall.policies.profile_reader import ProfileReader  # noqa: PLC0415

        return ProfileReader(self.source).profiles(tables, first)

    def _tables(self, document: Mapping[str, Any], key: str) -> list[Any]:
        tables = document.get(key, [])
        if isinstance(tables, dict):
            raise self.error(f"there is one [{key}]", f"write [[{key}]], in double brackets")
        if not isinstance(tables, list):
            raise self.error(f"'{key}' must be tables", f"write [[{key}]] above each {key}")
        return tables

    def _limits(self, tables: list[Any]) -> tuple[Limit, ...]:
        if not tables:
            return ()
        # Few policies have limits, and servers load this module when they start.
        from nacre.firewall.policies.limit_reader import LimitReader  # noqa: PLC0415

        return tuple(
            LimitReader(self.source, limit=number).read_limit(table)
            for number, table in enumerate(tables, 1)
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
            raise self.error(f"{key} is {kind_of_value(value)}", f'write {key} = ["mcp__a__b"]')
        return [self.glob(tool, f"{key}[{place}]") for place, tool in enumerate(value)]

    def _injection(self, table: Any) -> InjectionSection:
        defaults = InjectionSection()
        keys = ("action", "sources", "builtin", "without", "patterns")
        self._check_section(table, "injection", keys)
        sources = self.texts(table.get("sources", list(defaults.sources)), "injection.sources")
        for source in sources:
            if source not in SOURCES:
                hint = suggestion(source, SOURCES)
                raise self.error(f"injection.sources: unknown source {shown(source)}", hint)
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
            raise self.error(f"{name} is {kind_of_value(table)}", f"write [{name}]")
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
            hint = suggestion(value, choices)
            raise self.error(f"{section}.{key}: unknown value {shown(value)}", hint)
        return value

    def _flag(
        self, table: Mapping[str, Any], section: str, key: str, *, default: bool = True
    ) -> bool:
        value = table.get(key, default)
        if not isinstance(value, bool):
            raise self.error(f"{section}.{key} is {kind_of_value(value)}", "true or false")
        return value

    def _without(self, table: Mapping[str, Any], section: str) -> tuple[str, ...]:
        names = self.texts(table.get("without", []), f"{section}.without")
        built_in = _built_in(section) if names else frozenset()
        for name in names:
            if name not in built_in:
                hint = suggestion(name, sorted(built_in))
                raise self.error(f"{section}.without: no built-in rule {shown(name)}", hint)
        return names

    def _patterns(self, table: Any, label: str) -> tuple[NamedPattern, ...]:
        if not isinstance(table, dict):
            raise self.error(
                f"{label} is {kind_of_value(table)}", f"write [{label}], then name = 'regex'"
            )
        self.check_distinct(table, label)
        for name, text in table.items():
            if not isinstance(text, str) or not text:
                raise self.error(f"{label}.{name} must be a regular expression in quotes")
            problem = check_pattern(text)
            if problem is not None:
                raise self.error(f"{label}.{name} {problem}")
        return tuple(NamedPattern(name, text) for name, text in table.items())


def _built_in(section: str) -> frozenset[str]:
    # Imported here: few policies name such a rule, and servers load this module when they start.
    from nacre.firewall.content import secrets  # noqa: PLC0415
    from nacre.firewall.content.injection import rules  # noqa: PLC0415

    return rules.IDS if section == "injection" else secrets.IDS


def _rule_at(text: str, line: int) -> int | None:
    before = "\n".join(text.splitlines()[:line])
    return len(_HEADER.findall(before)) or None
