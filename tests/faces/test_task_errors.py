"""Log lines about errors that have ended a task."""

import json
from io import StringIO

from nacre.core.errors import InvalidParamsError, ToolError
from nacre.core.logs import Log
from nacre.faces.task_errors import TaskRules
from nacre.protocol.http import error_map


def test_a_fault_is_written_down_without_its_words_and_told_as_in_a_call() -> None:
    written = StringIO()
    rules = TaskRules(Log(stream=written))
    fault, expected, wrong = RuntimeError("a secret"), ToolError("no luck"), InvalidParamsError("x")

    told = [rules.tool_error("t", fault), rules.tool_error("t", expected)]
    failure = rules.explain(wrong, modern=True)
    lines = [json.loads(line) for line in written.getvalue().splitlines()]

    assert told == [error_map.tool_error("t", fault), error_map.tool_error("t", expected)]
    assert failure == error_map.explain(wrong, modern=True)
    assert [(line["level"], line["event"], line.get("tool")) for line in lines] == [
        ("error", "task", "t"),
        ("info", "task", "t"),
        ("info", "task", None),
    ]
    assert "secret" not in written.getvalue()
    assert "RuntimeError" in lines[0]["error"]
