"""The trace that a request belongs to: members of `_meta` in the formats of the W3C (SEP-414).

Callers choose them, so they are checked, and what is malformed or too long is dropped.
"""

import re
from collections.abc import Mapping
from typing import Any, TypeGuard

from nacre.core.limits import BAGGAGE_BYTES, BAGGAGE_ENTRIES, TRACESTATE_BYTES, TRACESTATE_ENTRIES

_PARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_STATE_ENTRY = re.compile(r"[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,256}")
_BAGGAGE_ENTRY = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+[ \t]*=[\x20-\x2b\x2d-\x7e\t]*")


def trace_of(meta: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the valid ones of `traceparent`, `tracestate` and `baggage`."""
    trace: dict[str, str] = {}
    parent = meta.get("traceparent")
    if isinstance(parent, str) and _PARENT.fullmatch(parent):
        trace["traceparent"] = parent
        state = meta.get("tracestate")
        if _is_list(state, _STATE_ENTRY, TRACESTATE_BYTES, TRACESTATE_ENTRIES):
            trace["tracestate"] = state
    baggage = meta.get("baggage")
    if _is_list(baggage, _BAGGAGE_ENTRY, BAGGAGE_BYTES, BAGGAGE_ENTRIES):
        trace["baggage"] = baggage
    return trace


def _is_list(
    value: object, entry: re.Pattern[str], most_bytes: int, most_entries: int
) -> TypeGuard[str]:
    if not isinstance(value, str) or not value or len(value) > most_bytes:
        return False
    entries = value.split(",")
    if len(entries) > most_entries:
        return False
    texts = [text for text in (part.strip(" \t") for part in entries) if text]
    return bool(texts) and all(entry.fullmatch(text) for text in texts)
