"""Texts anywhere in a JSON value: scanned, or masked in place with the shape kept."""

from typing import Any

from nacre.firewall.content.injection.scan import Finding, mask, scan
from nacre.firewall.rules.sections import InjectionSection, Source


def scan_value(value: Any, *, kind: Source, section: InjectionSection) -> tuple[Finding, ...]:
    """Return what is found in all texts of a value, names of members included."""
    found: list[Finding] = []
    waiting = [value]
    while waiting:
        each = waiting.pop()
        match each:
            case str():
                found += scan(each, kind=kind, section=section)
            case dict():
                waiting += reversed(list(each.values()))
                waiting += reversed([key for key in each if isinstance(key, str)])
            case list() | tuple():
                waiting += reversed(each)
            case _:
                pass
    return tuple(found)


def mask_value(
    value: Any, *, kind: Source, section: InjectionSection
) -> tuple[Any, tuple[Finding, ...]]:
    """Return the value with every finding masked, and the findings.

    Names of members keep their text, so that the shape stays: what is found there is in the
    findings and has to be denied.
    """
    found: list[Finding] = []

    def masked(each: Any) -> Any:
        match each:
            case str():
                findings = scan(each, kind=kind, section=section)
                found.extend(findings)
                return mask(each, findings) if findings else each
            case dict():
                for key in each:
                    if isinstance(key, str):
                        found.extend(scan(key, kind=kind, section=section))
                return {key: masked(inner) for key, inner in each.items()}
            case list() | tuple():
                return [masked(inner) for inner in each]
            case _:
                return each

    return masked(value), tuple(found)
