"""The parts that the tools share: their hints, who calls, and an answer in JSON."""

import json
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from nacre.core.errors import ToolError
from nacre.protocol.context import Context
from nacre.protocol.principal import Principal
from nacre.sdk.decorator import tool
from nacre.sdk.result import ToolResult
from nacre.sdk.tool import TaskSupport, Tool


def memory_tool(
    *,
    name: str,
    read_only: bool,
    destructive: bool | None = None,
    idempotent: bool | None = None,
    task: TaskSupport | None = None,
) -> Callable[[Callable[..., Coroutine[Any, Any, ToolResult]]], Tool]:
    """Return the decorator of a tool that waits for the memory and reaches nothing else."""
    return tool(
        name=name,
        read_only=read_only,
        destructive=destructive,
        idempotent=idempotent,
        open_world=False,
        blocking=True,
        task=task,
    )


def caller(context: Context) -> Principal:
    """Return the caller; a tool touches the Being of this principal and no other."""
    if context.principal is None:
        raise ToolError("this tool needs a Being: call it through a server, with a token")
    return context.principal


def json_answer(value: Mapping[str, Any]) -> ToolResult:
    """Return the value as JSON text, without the fields that are None."""
    fields = {name: field for name, field in value.items() if field is not None}
    return ToolResult.text(json.dumps(fields, ensure_ascii=False))
