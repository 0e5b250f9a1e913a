"""Secrets removed from JSON values; the shape of the value stays."""

import base64
import json
from collections.abc import Collection, Mapping
from typing import Any

from nacre.core.lazy_dataclasses import dataclass
from nacre.firewall.content.base64_media import without_base64
from nacre.firewall.content.secrets import (
    BUILT_IN,
    MARK,
    decoded,
    find_secrets,
    looks_random,
    names_secret,
    plain_texts,
    redact_text,
)
from nacre.firewall.rules.arguments.arguments import JsonNumber
from nacre.firewall.rules.sections import SecretsSection

_NAMED = "named-secret"
_BINARY = ("blob", "data")  # base64 in MCP: what replaces it has to be base64 too
_PLAIN_NAMES: set[str] = set()  # of members that were seen, few and again and again
_MAX_NAMES = 1024
_DEPTH = 3  # JSON inside text inside JSON


@dataclass(slots=True)  # frozen, each would take three times as long to make
class Redacted:
    """A value without secrets: the given object if it has none."""

    value: Any
    count: int
    rules: tuple[str, ...]


def redact(value: Any, section: SecretsSection) -> Redacted:
    """Return the value with every secret replaced by a mark; members and kinds stay."""
    if section.action == "off":
        return Redacted(value, 0, ())
    if is_plain(value, section):
        return Redacted(value, 0, ())
    redaction = _Redaction(section)
    parts = without_base64(value)
    clean = redaction.of(parts.value, 0)
    if section.action == "deny":  # files cannot be changed
        redaction.of(parts.file_texts, 0)
    if not redaction.rules:
        return Redacted(value, 0, ())
    return Redacted(
        parts.restore(clean), len(redaction.rules), tuple(dict.fromkeys(redaction.rules))
    )


def is_plain(value: Any, section: SecretsSection) -> bool:
    """Tell quickly whether a value consists only of texts that are known to have no secret."""
    plain = plain_texts(section)
    if not plain:
        return False
    waiting = [value]
    while waiting:
        part = waiting.pop()
        kind = type(part)
        if kind is str:
            if part not in plain:
                return False
        elif kind is dict:
            if not _PLAIN_NAMES.issuperset(part) and not _are_plain(part, plain):
                return False
            waiting += part.values()
        elif kind is list:
            waiting += part
        elif kind is not JsonNumber and isinstance(part, (str, dict, list, tuple)):
            return False
    return True


def _are_plain(names: Collection[str], plain: Collection[str]) -> bool:
    for name in names:
        if name not in plain or name in _BINARY or names_secret(name):
            return False
    if len(_PLAIN_NAMES) >= _MAX_NAMES:
        _PLAIN_NAMES.clear()
    _PLAIN_NAMES.update(names)
    return True


def redact_for_audit(value: Any) -> Any:
    """Return the value for a log: also without values whose names announce a secret."""
    return redact(_unnamed(value), BUILT_IN).value


def _unnamed(value: Any) -> Any:
    match value:
        case Mapping():
            return {
                key: MARK.format(_NAMED)
                if isinstance(key, str) and isinstance(inner, str) and names_secret(key)
                else _unnamed(inner)
                for key, inner in value.items()
            }
        case list() | tuple():
            return [_unnamed(inner) for inner in value]
        case _:
            return value


class _Redaction:
    """The redaction of one value; it counts the secrets."""

    def __init__(self, section: SecretsSection) -> None:
        self.section = section
        self.rules: list[str] = []
        self._by_name = section.builtin and _NAMED not in section.without
        self._plain = plain_texts(section)

    def of(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return value if type(value) is JsonNumber else self._text(value, depth)
        if isinstance(value, dict):
            members: dict[Any, Any] = {}
            for key, inner in value.items():
                name = key if key in self._plain else self._name(key, members)
                members[name] = self._member(key, inner, depth)
            return members
        if isinstance(value, (list, tuple)):
            return [self.of(inner, depth) for inner in value]
        return value

    def _name(self, key: Any, members: Mapping[Any, Any]) -> Any:
        if not isinstance(key, str):
            return key
        name = clean = self._text(key, _DEPTH)
        while name in members:
            name = f"{name} {len(members)}"
        return name if clean != key else key

    def _member(self, key: Any, value: Any, depth: int) -> Any:
        if not isinstance(key, str) or not isinstance(value, str) or type(value) is JsonNumber:
            return self.of(value, depth)
        if self._by_name and names_secret(key) and looks_random(value):
            self.rules.append(_NAMED)
            return MARK.format(_NAMED)
        if key in _BINARY and (text := decoded(value)):
            clean = self._text(text, depth)
            return base64.b64encode(clean.encode()).decode() if clean != text else value
        return self._text(value, depth)

    def _text(self, text: str, depth: int) -> str:
        if text in self._plain:
            return text
        secrets = find_secrets(text, self.section)
        if depth < _DEPTH and "\\" in text and text.lstrip()[:1] in ("{", "["):
            inner = self._nested(text, depth)
            if inner is not None:
                return inner
        if not secrets:
            return text
        self.rules += [secret.rule for secret in secrets]
        return redact_text(text, self.section)[0]

    def _nested(self, text: str, depth: int) -> str | None:
        """Redact JSON whose escapes hide a secret; None if the text itself is enough."""
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return None
        before = len(self.rules)
        clean = self.of(value, depth + 1)
        if len(self.rules) == before:
            return None
        return json.dumps(clean, ensure_ascii=False)
