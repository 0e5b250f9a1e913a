"""Errors in tasks: answered as in a call, with a line in the worker's log."""

from nacre.core.logs import Level, Log, where
from nacre.protocol.http import error_map
from nacre.protocol.messages import Failure


class TaskRules:
    """The rules of `error_map`; each error that is looked up has ended a task."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def explain(self, error: Exception, *, modern: bool) -> Failure:
        """Return the JSON-RPC error for an exception."""
        self._write(error, None)
        return error_map.explain(error, modern=modern)

    def tool_error(self, tool: str, error: Exception) -> str:
        """Return the text a model sees when a tool fails."""
        self._write(error, tool)
        return error_map.tool_error(tool, error)

    def _write(self, error: Exception, tool: str | None) -> None:
        is_fault = not error_map.is_expected(error)
        level: Level = "error" if is_fault else "info"
        self._log.write(level, "task", tool=tool, error=where(error, trace=is_fault))
