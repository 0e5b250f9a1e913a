"""Answers in JSON, as text for the model."""

import json
from collections.abc import Mapping
from typing import Any

from nacre.sdk.result import ToolResult


def json_answer(value: Mapping[str, Any]) -> ToolResult:
    """Return the value as JSON text; what is None is left out."""
    kept = {name: each for name, each in value.items() if each is not None}
    return ToolResult.text(json.dumps(kept, ensure_ascii=False))
