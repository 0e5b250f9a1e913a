"""Checks of message contents: text that tries to instruct a model, and secrets."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from nacre.firewall.content.base64_media import Stripped, without_base64
from nacre.firewall.content.injection.json_values import mask_value, scan_value
from nacre.firewall.content.injection.scan import MARK, Finding, describe, scan
from nacre.firewall.content.injection.tool_definitions import scan_definition
from nacre.firewall.content.message_texts import Kind, opaque_members, texts_of
from nacre.firewall.content.redaction import is_plain, redact
from nacre.firewall.content.secrets import MARK as SECRET_MARK
from nacre.firewall.content.secrets import find_secrets, plain_texts
from nacre.firewall.content.split_texts import SplitFindings, find_split, joined_rows
from nacre.firewall.enforce.json_edits import numbers
from nacre.firewall.rules.arguments.arguments import JsonNumber
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.sections import InjectionSection, Source

_DECIDED = ("inputRequests", "supportedVersions")  # opaque, and no words

_SECRET_FIELD = re.compile(
    r"pass(?:word|phrase|wd|code)|secret|api[ _-]?key|access[ _-]?key|private[ _-]?key|token"
    r"|credential|\bpin\b|\bcvv|\bcvc|card[ _-]?number|\bssn\b|seed[ _-]?phrase",
    re.IGNORECASE,
)


class Screened(NamedTuple):
    """A checked value: the same object, or another in its place.

    `objection` denies it, `doubt` asks for an approval, `note` is for the audit.
    """

    value: Any
    objection: str | None = None
    doubt: str | None = None
    note: str | None = None


class Screen:
    """Checks contents as the sections of a policy say."""

    def asked(self, method: str, params: Any, policy: Policy) -> Screened:
        """Check a server's question to the client."""
        if not isinstance(params, Mapping):
            return Screened(params)
        if method == "elicitation/create" and _asks_for_secrets(params):
            return Screened(params, "Blocked by policy (a form may not ask for secrets)")
        screened = self.message("request", method, params, policy)
        if params.get("includeContext") not in (None, "none") and screened.objection is None:
            doubt = screened.doubt or "The server asks for the conversation's context"
            return screened._replace(doubt=doubt)
        return screened

    def passes(self, result: Any, method: str, policy: Policy) -> bool:
        """Tell quickly whether a result needs no check; False means that it may need one."""
        if _looks(policy.injection, "result"):
            return False
        if policy.secrets.action == "off":
            return True
        words, _ = _apart(result, opaque_members("result", method))
        if not is_plain(words, policy.secrets):
            return False
        plain = plain_texts(policy.secrets)  # items without a secret may have one together
        return all(row in plain for row in joined_rows(words))

    def message(self, kind: Kind, method: str, value: Any, policy: Policy) -> Screened:
        """Check the texts of a message: a result, an error, or the params of other messages.

        First for instructions, then for secrets. Opaque members pass unchanged.
        """
        source = texts_of(kind, method).source
        words, opaque = _apart(value, opaque_members(kind, method))
        screened = self._screened(source, words, policy)
        if screened.value is words:
            return screened._replace(value=value)
        return screened._replace(value={**screened.value, **opaque} if opaque else screened.value)

    def result(self, result: Any, policy: Policy, method: str = "") -> Screened:
        """Check a server's result. A doubt denies it, because it is too late to ask a person."""
        screened = self.message("result", method, result, policy)
        if screened.doubt is not None and screened.objection is None:
            return Screened(result, screened.doubt, note=screened.note)
        return screened

    def described(self, result: Mapping[str, Any], method: str, policy: Policy) -> Screened:
        """Check a server's description of itself: a text that instructs is replaced, not denied.

        Without an answer to `initialize` no client could use the server at all.
        """
        source = texts_of("result", method).source
        words, opaque = _apart(result, opaque_members("result", method))
        findings: list[Finding] = []
        clean = words
        if _looks(policy.injection, source):
            clean = _without_instructions(words, source, policy.injection, findings)
        secrets = _secrets(clean if findings else words, policy)
        note = _joined(describe(tuple(findings)) if findings else None, secrets.note)
        if note is None or secrets.objection is not None:
            return Screened(result, secrets.objection, note=note)
        return Screened({**secrets.value, **opaque}, note=note)

    def _screened(self, source: Source, value: Any, policy: Policy) -> Screened:
        if not _looks(policy.injection, source):
            return _secrets(value, policy)
        parts = without_base64(numbers(value))
        screened = _injection(parts, source, policy)
        if screened.objection is not None:
            return screened._replace(value=value)
        clean = _secrets(screened.value, policy, file_texts=parts.file_texts)
        note = _joined(screened.note, clean.note)
        if clean.objection is not None or clean.value is parts.value:
            return Screened(value, clean.objection, screened.doubt, note)
        return Screened(parts.restore(clean.value), None, screened.doubt, note)

    def listed(self, items: Mapping[str, Any], policy: Policy) -> Screened:
        """Check the items of a list for secrets; each definition was checked before."""
        return _secrets(items, policy)

    def answer(self, result: Any, policy: Policy) -> Screened:
        """Check a client's answers to a server's questions."""
        return _secrets(result, policy)

    def definition(self, item: Mapping[str, Any], policy: Policy) -> str | None:
        """Return the problem with the definition of a tool, prompt or resource, if there is one."""
        if not _looks(policy.injection, "definition"):
            return None
        findings = scan_definition(numbers(item), section=policy.injection)
        return describe(findings) if findings else None


def _looks(section: InjectionSection, kind: Source) -> bool:
    return section.action != "off" and kind in section.sources


def _apart(value: Any, names: Collection[str]) -> tuple[Any, dict[str, Any]]:
    """Return a value without its opaque members, and these; the same value if it has none.

    An object in the place of a word is not opaque.
    """
    if not isinstance(value, dict) or not any(name in value for name in names):
        return value, {}
    opaque = {
        name: value[name]
        for name in names
        if name in value and (name in _DECIDED or not isinstance(value[name], dict | list))
    }
    return {name: inner for name, inner in value.items() if name not in opaque}, opaque


def _injection(parts: Stripped, kind: Source, policy: Policy) -> Screened:
    section, value = policy.injection, parts.value
    in_files = scan_value(parts.file_texts, kind=kind, section=section)
    if in_files and section.action == "redact":  # files cannot be changed
        return Screened(value, f"Blocked by policy ({describe(in_files)})", note=describe(in_files))
    if section.action == "redact":
        masked, findings = mask_value(value, kind=kind, section=section)
        # Names of members cannot be masked, so instructions in them are denied.
        in_names = scan_value(masked, kind=kind, section=section) if findings else ()
        if in_names:
            return Screened(
                value, f"Blocked by policy ({describe(in_names)})", note=describe(in_names)
            )
        split = _split_instructions(masked, kind, section)
        if not findings and not split.marks:
            return Screened(value)
        return Screened(split.mask(masked), note=_note_of(findings, split))
    findings = (*scan_value(value, kind=kind, section=section), *in_files)
    split = SplitFindings() if findings else _split_instructions(value, kind, section)
    if not findings and not split.marks:
        return Screened(value)
    note = _note_of(findings, split)
    if section.action == "prompt":
        return Screened(value, doubt=note, note=note)
    return Screened(value, f"Blocked by policy ({note})", note=note)


def _note_of(findings: tuple[Finding, ...], split: SplitFindings) -> str:
    across = "instructions that are split over several items" if split.marks else None
    return _joined(describe(findings) if findings else None, across) or ""


def _secrets(value: Any, policy: Policy, file_texts: Sequence[str] = ()) -> Screened:
    """Remove secrets; `file_texts` are texts within files, which cannot be changed."""
    section = policy.secrets
    if section.action == "off":
        return Screened(value)
    clean = redact(value, section)
    split = find_split(
        clean.value,
        lambda text: [
            (SECRET_MARK.format(secret.rule), secret.start, secret.end)
            for secret in find_secrets(text, section)
        ],
        glues=("",),
        in_context=True,
    )
    in_files = [redact(text, section).count for text in file_texts if section.action == "deny"]
    count = clean.count + len(split.marks) + sum(in_files)
    if not count:
        return Screened(value)
    rules = dict.fromkeys((*clean.rules, *(["split over items"] if split.marks else [])))
    note = f"{count} secret{'' if count == 1 else 's'} ({', '.join(rules)[:200]})"
    if section.action == "deny":
        return Screened(value, f"Blocked by policy (it holds {note})", note=note)
    return Screened(split.mask(clean.value), note=f"{note} taken out")


def _split_instructions(value: Any, kind: Source, section: InjectionSection) -> SplitFindings:
    """Return instructions that appear only when the items are read in a row."""
    return find_split(
        value,
        lambda text: [
            (MARK.format(finding.rule), finding.start, finding.end)
            for finding in scan(text, kind=kind, section=section)
        ],
        glues=("\n", ""),
    )


def _without_instructions(
    value: Any, kind: Source, section: InjectionSection, all_findings: list[Finding]
) -> Any:
    """Return the value with another text in place of each that instructs.

    An object or list whose member names instruct, or whose items do so together, is dropped.
    """
    if isinstance(value, str) and type(value) is not JsonNumber:
        findings = scan(value, kind=kind, section=section)
        all_findings += findings
        return MARK.format(findings[0].rule) if findings else value
    if isinstance(value, dict):
        members = {}
        for name, inner in value.items():
            findings = scan(name, kind=kind, section=section)
            all_findings += findings
            if not findings:
                members[name] = _without_instructions(inner, kind, section, all_findings)
        return members
    if isinstance(value, list):
        return [_without_instructions(inner, kind, section, all_findings) for inner in value]
    return value


def _joined(*notes: str | None) -> str | None:
    return "; ".join(note for note in notes if note) or None


def _asks_for_secrets(params: Mapping[str, Any]) -> bool:
    """Tell whether a form has a field for a secret; secrets are entered at a URL instead."""
    schema = params.get("requestedSchema")
    fields = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(fields, Mapping):
        return False
    return any(
        _SECRET_FIELD.search(
            f"{name} {field.get('title', '')}" if isinstance(field, Mapping) else name
        )
        for name, field in fields.items()
    )
