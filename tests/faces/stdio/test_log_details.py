"""The log lines of a verbose server about requests and answers."""

import json
from io import StringIO
from typing import Any

import pytest

from nacre.core.logs import Log
from nacre.faces.stdio.log_details import Details

FAILED = {"content": [{"type": "text", "text": "Error: Ann owes 5 euros"}], "isError": True}


def told(name: str, answer: dict[str, Any]) -> dict[str, Any]:
    stream = StringIO()
    details = Details(Log("debug", stream))
    details.request(1, "tools/call", {"name": name, "arguments": {"who": "Ann"}})
    details.answer(1, json.dumps(answer).encode())
    return dict(json.loads(stream.getvalue().splitlines()[1]))


def test_why_a_call_failed_is_said() -> None:
    line = told("order_being", {"result": FAILED})

    assert (line["is_error"], line["said"]) == (True, "Error: Ann owes 5 euros")


@pytest.mark.parametrize("answer", [{"result": FAILED}, {"error": {"message": "Ann owes"}}])
def test_what_another_server_says_is_content(answer: dict[str, Any]) -> None:
    line = told("mcp__bank__ask", answer)

    assert "Ann" not in json.dumps(line)
