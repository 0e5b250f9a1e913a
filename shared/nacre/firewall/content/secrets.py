"""Find keys, tokens and passwords in text by their form; randomness alone is no finding."""

# ruff: noqa: E501 (a pattern broken over lines is harder to read than a long one)

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from functools import cache, lru_cache

from nacre.core.lazy_dataclasses import dataclass
from nacre.core.token_prefixes import ANYWHERE, KINDS
from nacre.firewall.content.token_formats import DISCORD_FORM, NOTION_FORM, VENDOR_FORMS
from nacre.firewall.rules.sections import SecretsSection

MARK = "[redacted: {}]"
BUILT_IN = SecretsSection()
OWN_BUDGET = "own-pattern-budget"
_ENTROPY = 3.0  # bits per character; English words without digits have fewer
_INVISIBLE = "[\u00ad\u034f\u180e\u200b-\u200f\u2060-\u2064\ufeff\U000e0000-\U000e007f]"


@dataclass(frozen=True, slots=True)
class SecretRule:
    """A pattern for one kind of secret; its last group, if it has any, is the secret.

    `guarded` rules recognise a secret by the name next to it. So the value must also look like a
    credential: random enough, and not a placeholder.
    """

    id: str
    hints: tuple[str, ...]
    pattern: str
    guarded: bool = False

    def compiled(self) -> re.Pattern[str]:
        """Return the pattern, compiled when first needed.

        A secret may directly follow an underscore, as in a tool's name.
        """
        is_form = not self.guarded and self.id != "url-password"
        return _compiled(
            _FIRST.sub(r"\1(?<![A-Za-z0-9])", self.pattern) if is_form else self.pattern
        )


_FIRST = re.compile(r"(^|\|)\\b")


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


# Names of secrets. A token that marks a position in a list, as in next_token, is not a secret.
_NO_SECRET = "".join(
    f"(?<!{word})"
    for word in (
        "next",
        "page",
        "sync",
        "csrf",
        "cursor",
        "continuation",
        "max",
        "min",
        "put",
        "total",
    )
)
_NAMED = (
    r"(?i:passw(?:or)?d|passphrase|pwd|secret|api[_-]?key|(?:access|private|account|auth|encryption)[_-]?key"
    rf"|credentials?|{_NO_SECRET}(?:[_-]|(?<![_-]))token)(?i:[_-]?(?:id|value|key))?"
)

RULES: tuple[SecretRule, ...] = (
    SecretRule(
        "private-key",
        ("PRIVATE KEY",),
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[^\"-]|-(?!----)){0,20000}"
        r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?",
    ),
    SecretRule("aws-access-key", ("AKIA", "ASIA"), r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    SecretRule(
        "aws-secret-key",
        ("aws", "AWS", "ecret"),
        r"(?i:aws|secret)(?i:[\w.-]{0,20}key)[\"']?\s{0,3}[:=]\s{0,3}[\"']?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
        guarded=True,
    ),
    SecretRule("github-token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"\bgh[pousr]_[A-Za-z0-9]{36,255}"),
    SecretRule("github-token", ("github_pat_",), r"\bgithub_pat_[A-Za-z0-9_]{22,255}"),
    SecretRule(
        "gitlab-token",
        ("glpat-", "gldt-", "glrt-", "glrtr-", "glcbt-", "glptt-", "glsoat-", "glimt-", "glagent-", "glft-", "glffct-", "gloas-"),
        r"\bgl(?:pat|dt|rtr?|cbt|ptt|soat|imt|agent|ft|ffct|oas)-[A-Za-z0-9_-]{20,255}",
    ),
    SecretRule("slack-token", ("xox", "xapp-"), r"\b(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{16,255}"),
    SecretRule("slack-webhook", ("hooks.slack",), r"hooks\.slack\.com/services/([A-Za-z0-9/]{20,80})"),
    SecretRule("stripe-key", ("_live_", "_test_"), r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,255}"),
    SecretRule("anthropic-key", ("sk-ant-",), r"\bsk-ant-[A-Za-z0-9_-]{20,255}"),
    SecretRule("openai-key", ("sk-",), r"\bsk-(?:proj-|svcacct-|admin-|or-v1-)?(?=[A-Za-z_-]{0,60}\d)[A-Za-z0-9_-]{32,255}"),
    SecretRule("google-key", ("AIza", "ya29.", "GOCSPX-"), r"\bAIza[A-Za-z0-9_-]{35}\b|\bya29\.[A-Za-z0-9_-]{20,255}|\bGOCSPX-[A-Za-z0-9_-]{20,64}"),
    SecretRule("npm-token", ("npm_",), r"\bnpm_[A-Za-z0-9]{36}\b"),
    SecretRule("pypi-token", ("pypi-",), r"\bpypi-AgE[A-Za-z0-9_-]{50,255}"),
    SecretRule("huggingface-token", ("hf_",), r"\bhf_[A-Za-z0-9]{30,64}\b"),
    SecretRule("sendgrid-key", ("SG.",), r"\bSG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,64}"),
    SecretRule("digitalocean-token", ("dop_v1_", "doo_v1_", "dor_v1_"), r"\bdo[por]_v1_[a-f0-9]{64}"),
    SecretRule("telegram-token", (":AA",), r"\b\d{8,10}:AA[A-Za-z0-9_-]{33}\b"),
    SecretRule("vault-token", ("hvs.", "hvb.", "hvr."), r"\bhv[sbr]\.[A-Za-z0-9_-]{24,255}"),
    SecretRule("age-key", ("AGE-SECRET-KEY",), r"\bAGE-SECRET-KEY-1[A-Z0-9]{58}"),
    *(SecretRule(*form) for form in VENDOR_FORMS),
    SecretRule("discord-token", ("M", "N", "O"), DISCORD_FORM, guarded=True),
    SecretRule("notion-token", ("secret_",), NOTION_FORM, guarded=True),
    SecretRule("nacre-token", tuple(f"{kind}_" for kind in KINDS), rf"{ANYWHERE}|\b(?:{'|'.join(KINDS)})_[A-Za-z0-9_-]{{32,128}}"),
    SecretRule(
        "json-web-token",
        ("eyJ",),
        r"\beyJ[A-Za-z0-9_-]{10,4000}\.eyJ[A-Za-z0-9_-]{10,8000}\.[A-Za-z0-9_-]{16,2000}",
    ),
    SecretRule(
        "azure-key",
        ("Key=", "key=", "sig="),
        r"(?:AccountKey|SharedAccessKey|[?&]sig)=([A-Za-z0-9+/%]{32,200}={0,2})",
    ),
    SecretRule(
        "url-password",
        ("://",),
        r"\b[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s/:@\"'<>\\]{0,100}:([^\s@/\"'<>{}$*\[\]\\]{3,200})@",
    ),
    SecretRule(
        "authorization",
        ("earer", "EARER", "uthorization", "UTHORIZATION", "asic "),
        r"(?i:\bauthorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:bearer|basic|token|digest)?|\bbearer)\s{1,3}"
        r"([A-Za-z0-9._~+/-]{16,4000}={0,2})",
        guarded=True,
    ),
    SecretRule(
        "named-secret",
        ("passw", "PASSW", "Passw", "pwd", "PWD", "ecret", "ECRET", "oken", "OKEN", "key", "KEY", "Key",
         "assphrase", "redential", "REDENTIAL"),
        _NAMED + r"[\\]?[\"']?\s{0,3}(?::|=>|=)\s{0,3}[\\]?[\"']?([^\s\"'`,;\\<>(){}\[\]]{8,400})",
        guarded=True,
    ),
)  # fmt: skip

IDS = frozenset(rule.id for rule in RULES) | {"encoded"}
_PLAIN = tuple(rule for rule in RULES if not rule.guarded and rule.id != "url-password")
_SECRET_NAME = rf"[\w.-]{{0,60}}?{_NAMED}"
_SHORTEST_RUN = 24
_SHORT = 32
_MAX_PLAIN = 1024
_PLAIN_TEXTS: set[str] = set()
_BASE64 = rf"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{{{_SHORTEST_RUN},4000}}={{0,2}}"
_RUN = b"a" * _SHORTEST_RUN
_RUN_OR_NOT = bytes(
    ord("a") if byte < 128 and (chr(byte).isalnum() or chr(byte) in "+/_-") else ord(" ")
    for byte in range(256)
)
_PLACEHOLDER = (
    r"(?i)\$|%|^\*+$|^[x.*_-]+$|example\.|changeme|placeholder|your[_-]|^env[:.]|environ|process\.|redacted"
    r"|^(?:https?|file)://|^/[\w./-]+$|^\.{1,2}/|^arn:"
)


@dataclass(frozen=True, slots=True)
class Secret:
    """The place of a secret in a text, and the rule that found it."""

    rule: str
    start: int
    end: int


def find_secrets(text: str, section: SecretsSection) -> tuple[Secret, ...]:
    """Return the secrets of a text in their order; they do not overlap."""
    if section.action == "off" or not text:
        return ()
    secrets = []
    if section.builtin and not _is_known_plain(text):
        secrets = [secret for secret in _built_in(text) if secret.rule not in section.without]
    if section.cards or section.ibans or section.patterns:
        chosen = tuple(_chosen(text, section))
        if None in chosen:
            return (Secret(OWN_BUDGET, 0, len(text)),)
        secrets += [secret for secret in chosen if secret is not None]
    return _merged(secrets) if secrets else ()


def _chosen(text: str, section: SecretsSection) -> Iterator[Secret | None]:
    """Yield the secrets that a policy adds to the built-in ones; None at the time limit."""
    # The built-in rules do without these modules, and so do hooks.
    from nacre.firewall.content.custom_patterns import own_matches  # noqa: PLC0415
    from nacre.firewall.content.payment_numbers import (  # noqa: PLC0415
        CARD,
        IBAN,
        find_cards,
        find_ibans,
    )

    if section.cards:
        yield from (Secret(CARD, *span) for span in find_cards(text))
    if section.ibans:
        yield from (Secret(IBAN, *span) for span in find_ibans(text))
    for match in own_matches(text, section.patterns) if section.patterns else ():
        yield None if match is None else Secret(match[0], *match[1])


def plain_texts(section: SecretsSection) -> Collection[str]:
    """Return the short texts that are known to have no secret, not even in JSON escapes.

    The set changes while texts are checked. It is empty for a section with other rules than the
    built-in ones.
    """
    has_other_rules = section.patterns or section.cards or section.ibans
    return () if has_other_rules or not section.builtin else _PLAIN_TEXTS


def _is_known_plain(text: str) -> bool:
    """Tell whether a short text has no secret by the built-in rules.

    Kinds, names and words repeat, so texts without secrets are cached. Secrets never are.
    """
    if text in _PLAIN_TEXTS:
        return True
    if len(text) > _SHORT or "\\" in text or next(_built_in(text), None) is not None:
        return False
    if len(_PLAIN_TEXTS) >= _MAX_PLAIN:
        _PLAIN_TEXTS.clear()
    _PLAIN_TEXTS.add(text)
    return True


def redact_text(text: str, section: SecretsSection) -> tuple[str, int]:
    """Return the text with a mark in place of each secret, and the number of secrets."""
    secrets = find_secrets(text, section)
    return (masked(text, secrets), len(secrets)) if secrets else (text, 0)


def masked(text: str, secrets: Iterable[Secret]) -> str:
    """Return the text with a mark in place of each of these secrets, which are in order."""
    parts: list[str] = []
    end = 0
    for secret in secrets:
        parts += (text[end : secret.start], MARK.format(secret.rule))
        end = secret.end
    return "".join((*parts, text[end:]))


@lru_cache(maxsize=1024)  # the same few names come again and again
def names_secret(name: str) -> bool:
    """Tell whether a member or argument of this name holds a secret."""
    lower = name.lower()
    return lower in ("authorization", "cookie", "set-cookie", "x-api-key") or (
        _compiled(_SECRET_NAME).fullmatch(name) is not None
    )


def looks_random(value: str) -> bool:
    """Tell whether a value is a credential rather than a word, a path or a placeholder."""
    if len(value) < 8 or _compiled(_PLACEHOLDER).search(value):
        return False
    kinds = sum(
        any(test(char) for char in value)
        for test in (str.isdigit, str.islower, str.isupper, lambda char: not char.isalnum())
    )
    return (
        kinds >= 2
        and any(map(str.isdigit, value))
        and _entropy(value) >= min(_ENTROPY, math.log2(len(value)) - 0.6)
    )


def _built_in(text: str) -> Iterator[Secret]:
    yield from _matches(text, RULES)
    if not text.isascii():
        yield from _disguised(text)
    for run in _compiled(_BASE64).finditer(text) if _may_hold_a_run(text) else ():
        text_in_run = decoded(run[0])
        if text_in_run and next(_matches(text_in_run, _PLAIN), None) is not None:
            yield Secret("encoded", *run.span())


def _disguised(text: str) -> Iterator[Secret]:
    """Yield the secrets that invisible or wide characters hide."""
    import unicodedata  # noqa: PLC0415 - most hooks see plain text

    invisible = _compiled(_INVISIBLE)
    if invisible.search(text):
        visible = [place for place, char in enumerate(text) if not invisible.match(char)]
        for secret in _matches("".join(text[place] for place in visible), RULES):
            yield Secret(secret.rule, visible[secret.start], visible[secret.end - 1] + 1)
    wide = unicodedata.normalize("NFKC", text)
    if wide != text and len(wide) == len(text):
        yield from _matches(wide, RULES)


def _matches(text: str, rules: tuple[SecretRule, ...]) -> Iterator[Secret]:
    for rule in rules:
        for hint in rule.hints:
            if hint in text:
                break
        else:
            continue
        for match in rule.compiled().finditer(text):
            group = match.re.groups
            if not rule.guarded or looks_random(match[group]):
                yield Secret(rule.id, *match.span(group))


def _may_hold_a_run(text: str) -> bool:
    """Tell whether the text may hold a run of base64; much faster than the pattern."""
    if len(text) < _SHORTEST_RUN:
        return False
    return _RUN in text.encode("latin-1", "replace").translate(_RUN_OR_NOT)


def decoded(run: str) -> str:
    """Return the text in a base64 run, or "" if it has none."""
    import base64  # noqa: PLC0415 - most hooks see no such run

    body = run.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        text = base64.b64decode(body + "=" * (-len(body) % 4), validate=True).decode("utf-8")
    except ValueError:
        return ""
    return text if all(char.isprintable() or char in "\r\n\t" for char in text) else ""


def _merged(secrets: list[Secret]) -> tuple[Secret, ...]:
    merged: list[Secret] = []
    for secret in sorted(secrets, key=lambda secret: (secret.start, -secret.end)):
        if secret.end <= secret.start:
            continue
        if merged and secret.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = Secret(last.rule, last.start, max(last.end, secret.end))
        else:
            merged.append(secret)
    return tuple(merged)


def _entropy(value: str) -> float:
    counts = Counter(value)
    return -sum(n / len(value) * math.log2(n / len(value)) for n in counts.values())
