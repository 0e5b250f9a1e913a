"""Fuzz the content checks: `python tests/fuzz/fuzz_content.py -runs=100000` (needs atheris)."""

import json
import sys
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[2] / "shared")]

from nacre.policy.injection import mask, scan
from nacre.policy.injection_definitions import scan_definition
from nacre.policy.injection_places import mask_value
from nacre.policy.own_patterns import check_pattern
from nacre.policy.redaction import redact
from nacre.policy.secrets import BUILT_IN, redact_text
from nacre.policy.sections import SOURCES, InjectionSection

ALL = InjectionSection(sources=SOURCES)


def one(data: bytes) -> None:
    """Give one input to every content check; an exception is a finding."""
    try:
        text = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
    for kind in SOURCES:
        findings = scan(text, kind=kind, section=ALL)
        assert all(0 <= each.start <= each.end <= len(text) for each in findings)
        mask(text, findings)
    clean, _ = redact_text(text, BUILT_IN)
    assert redact_text(clean, BUILT_IN) == (clean, 0)
    check_pattern(text)
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return
    mask_value(value, kind="result", section=ALL)
    redacted = redact(value, BUILT_IN)
    assert type(redacted.value) is type(value)
    json.dumps(redacted.value)
    if isinstance(value, dict):
        scan_definition(value, section=ALL, peers=[value])


if __name__ == "__main__":
    import atheris  # comes without types

    atheris.instrument_all()
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()
