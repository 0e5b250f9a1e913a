"""The texts in a JSON value: scanned, or masked in place."""

from typing import Any

from nacre.firewall.content.injection.scan import Finding, mask, scan
from nacre.firewall.rules.sections import InjectionSection, Source


def scan_value(value: Any, *, kind: Source, section: InjectionSection) -> tuple[Finding, ...]:
    """Return the findings in all texts of a value, including member names."""
    findings: list[Finding] = []
    pending = [value]
    while pending:
        part = pending.pop()
        match part:
            case str():
                findings += scan(part, kind=kind, section=section)
            case dict():
                pending += reversed(list(part.values()))
                pending += reversed([key for key in part if isinstance(key, str)])
            case list() | tuple():
                pending += reversed(part)
            case _:
                pass
    return tuple(findings)


def mask_value(
    value: Any, *, kind: Source, section: InjectionSection
) -> tuple[Any, tuple[Finding, ...]]:
    """Return the value with every finding masked, and the findings.

    Member names are not masked, to keep the value's shape. The findings include those in names; a
    value with such a finding has to be denied.
    """
    all_findings: list[Finding] = []

    def masked(part: Any) -> Any:
        match part:
            case str():
                findings = scan(part, kind=kind, section=section)
                all_findings.extend(findings)
                return mask(part, findings) if findings else part
            case dict():
                for key in part:
                    if isinstance(key, str):
                        all_findings.extend(scan(key, kind=kind, section=section))
                return {key: masked(inner) for key, inner in part.items()}
            case list() | tuple():
                return [masked(inner) for inner in part]
            case _:
                return part

    return masked(value), tuple(all_findings)
