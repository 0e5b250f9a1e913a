"""What a guard asks about the content of messages: who tries to instruct, and what is secret."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from nacre.firewall.content.base64_media import Lifted, lifted
from nacre.firewall.content.injection.json_values import mask_value, scan_value
from nacre.firewall.content.injection.scan import MARK, Finding, said, scan
from nacre.firewall.content.injection.tool_definitions import scan_definition
from nacre.firewall.content.message_texts import Kind, opaque_members, texts_of
from nacre.firewall.content.redaction import is_plain, redact
from nacre.firewall.content.secrets import MARK as SECRET_MARK
from nacre.firewall.content.secrets import find_secrets
from nacre.firewall.content.split_texts import Crossing, crossing
from nacre.firewall.enforce.rewrite import numbers
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
    """What became of a value: the same object, or another in its place.

    `objection` denies it, `doubt` asks for an approval, `note` is for the audit.
    """

    value: Any
    objection: str | None = None
    doubt: str | None = None
    note: str | None = None


class Screen:
    """Looks at content as the policy's sections say."""

    def asked(self, method: str, params: Any, policy: Policy) -> Screened:
        """Look at what a server asks of the client."""
        if not isinstance(params, Mapping):
            return Screened(params)
        if method == "elicitation/create" and _asks_for_secrets(params):
            return Screened(params, "Blocked by policy (a form may not ask for secrets)")
        screened = self.message("request", method, params, policy)
        if params.get("includeContext") not in (None, "none") and screened.objection is None:
            doubt = screened.doubt or "The server asks for the conversation's context"
            return screened._replace(doubt=doubt)
        return screened

    def passes(self, result: Any, policy: Policy) -> bool:
        """Tell at one look whether a result goes on as it is; most others do, too."""
        if _looks(policy.injection, "result"):
            return False
        return policy.secrets.action == "off" or is_plain(result, policy.secrets)

    def message(self, kind: Kind, method: str, value: Any, policy: Policy) -> Screened:
        """Look at the texts of a message: a result, an error, or the params of the others.

        First who instructs, then what is secret. Opaque members pass as they are.
        """
        source = texts_of(kind, method).source
        shown, opaque = _apart(value, opaque_members(kind, method))
        screened = self._screened(source, shown, policy)
        if screened.value is shown:
            return screened._replace(value=value)
        return screened._replace(value={**screened.value, **opaque} if opaque else screened.value)

    def result(self, result: Any, policy: Policy, method: str = "") -> Screened:
        """Look at what a server hands back; nobody can be asked, because it is there already."""
        screened = self.message("result", method, result, policy)
        if screened.doubt is not None and screened.objection is None:
            return Screened(result, screened.doubt, note=screened.note)
        return screened

    def described(self, result: Mapping[str, Any], method: str, policy: Policy) -> Screened:
        """Look at what a server says of itself: a text that instructs is replaced, not denied.

        Without an answer to `initialize` no client could use the server at all.
        """
        source = texts_of("result", method).source
        shown, opaque = _apart(result, opaque_members("result", method))
        found: list[Finding] = []
        clean = shown
        if _looks(policy.injection, source):
            clean = _without_instructions(shown, source, policy.injection, found)
        secrets = _secrets(clean if found else shown, policy)
        note = _joined(said(tuple(found)) if found else None, secrets.note)
        if note is None or secrets.objection is not None:
            return Screened(result, secrets.objection, note=note)
        return Screened({**secrets.value, **opaque}, note=note)

    def _screened(self, source: Source, value: Any, policy: Policy) -> Screened:
        if not _looks(policy.injection, source):
            return _secrets(value, policy)
        parts = lifted(numbers(value))
        screened = _injection(parts, source, policy)
        if screened.objection is not None:
            return screened._replace(value=value)
        clean = _secrets(screened.value, policy, shows=parts.shows)
        note = _joined(screened.note, clean.note)
        if clean.objection is not None or clean.value is parts.value:
            return Screened(value, clean.objection, screened.doubt, note)
        return Screened(parts.restored(clean.value), None, screened.doubt, note)

    def listed(self, items: Mapping[str, Any], policy: Policy) -> Screened:
        """Look for secrets in the items of a list, each of which was looked at by itself."""
        return _secrets(items, policy)

    def answer(self, result: Any, policy: Policy) -> Screened:
        """Look at what the client gives a server: answers to what it asked."""
        return _secrets(result, policy)

    def definition(self, item: Mapping[str, Any], policy: Policy) -> str | None:
        """Return what is wrong with the definition of a tool, a prompt or a resource."""
        if not _looks(policy.injection, "definition"):
            return None
        found = scan_definition(numbers(item), section=policy.injection)
        return said(found) if found else None


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
    return {name: each for name, each in value.items() if name not in opaque}, opaque


def _injection(parts: Lifted, kind: Source, policy: Policy) -> Screened:
    section, value = policy.injection, parts.value
    in_files = scan_value(parts.shows, kind=kind, section=section)
    if in_files and section.action == "redact":  # nothing can be taken out of a file
        return Screened(value, f"Blocked by policy ({said(in_files)})", note=said(in_files))
    if section.action == "redact":
        masked, found = mask_value(value, kind=kind, section=section)
        # Names of members cannot be masked, so what stands there is denied.
        left = scan_value(masked, kind=kind, section=section) if found else ()
        if left:
            return Screened(value, f"Blocked by policy ({said(left)})", note=said(left))
        split = _split_instructions(masked, kind, section)
        if not found and not split.marks:
            return Screened(value)
        return Screened(split.taken_out(masked), note=_note_of(found, split))
    found = (*scan_value(value, kind=kind, section=section), *in_files)
    split = Crossing() if found else _split_instructions(value, kind, section)
    if not found and not split.marks:
        return Screened(value)
    note = _note_of(found, split)
    if section.action == "prompt":
        return Screened(value, doubt=note, note=note)
    return Screened(value, f"Blocked by policy ({note})", note=note)


def _note_of(found: tuple[Finding, ...], split: Crossing) -> str:
    across = "instructions that are split over several items" if split.marks else None
    return _joined(said(found) if found else None, across) or ""


def _secrets(value: Any, policy: Policy, shows: Sequence[str] = ()) -> Screened:
    """Take secrets out; `shows` are texts within files, of which nothing can be taken out."""
    section = policy.secrets
    if section.action == "off":
        return Screened(value)
    clean = redact(value, section)
    split = crossing(
        clean.value,
        lambda text: [
            (SECRET_MARK.format(each.rule), each.start, each.end)
            for each in find_secrets(text, section)
        ],
        glues=("",),
    )
    in_files = [redact(each, section).count for each in shows if section.action == "deny"]
    count = clean.count + len(split.marks) + sum(in_files)
    if not count:
        return Screened(value)
    rules = dict.fromkeys((*clean.rules, *(["split over items"] if split.marks else [])))
    note = f"{count} secret{'' if count == 1 else 's'} ({', '.join(rules)[:200]})"
    if section.action == "deny":
        return Screened(value, f"Blocked by policy (it holds {note})", note=note)
    return Screened(split.taken_out(clean.value), note=f"{note} taken out")


def _split_instructions(value: Any, kind: Source, section: InjectionSection) -> Crossing:
    """Return what instructs only when the items are read in a row."""
    return crossing(
        value,
        lambda text: [
            (MARK.format(each.rule), each.start, each.end)
            for each in scan(text, kind=kind, section=section)
        ],
        glues=("\n", ""),
    )


def _without_instructions(
    value: Any, kind: Source, section: InjectionSection, found: list[Finding]
) -> Any:
    """Return the value with another text in place of each that instructs.

    An object or list whose member names instruct, or whose items do so together, is dropped.
    """
    if isinstance(value, str) and type(value) is not JsonNumber:
        findings = scan(value, kind=kind, section=section)
        found += findings
        return MARK.format(findings[0].rule) if findings else value
    if isinstance(value, dict):
        kept = {}
        for name, inner in value.items():
            findings = scan(name, kind=kind, section=section)
            found += findings
            if not findings:
                kept[name] = _without_instructions(inner, kind, section, found)
        return kept
    if isinstance(value, list):
        return [_without_instructions(inner, kind, section, found) for inner in value]
    return value


def _joined(*notes: str | None) -> str | None:
    return "; ".join(note for note in notes if note) or None


def _asks_for_secrets(params: Mapping[str, Any]) -> bool:
    """Tell whether a form has a field for what no form may ask: a URL is the way for that."""
    schema = params.get("requestedSchema")
    fields = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(fields, Mapping):
        return False
    return any(
        _SECRET_FIELD.search(
            f"{name} {each.get('title', '')}" if isinstance(each, Mapping) else name
        )
        for name, each in fields.items()
    )
