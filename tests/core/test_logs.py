"""The log on standard error."""

import json
import sys
from io import StringIO

import pytest

from nacre.core.logs import Log, where


def test_an_event_is_one_line_of_json_without_what_is_unknown() -> None:
    stream = StringIO()

    Log("info", stream).write("warning", "mcp", method="tools/call", tool=None, ms=1.5)

    [line] = stream.getvalue().splitlines()
    said = json.loads(line)
    assert said.pop("timestamp").endswith("Z")
    assert said == {"level": "warning", "event": "mcp", "method": "tools/call", "ms": 1.5}


def test_what_is_below_the_level_is_not_written() -> None:
    stream = StringIO()

    Log("warning", stream).write("info", "mcp")

    assert stream.getvalue() == ""


class _Broken(StringIO):
    def write(self, _text: str) -> int:
        raise BrokenPipeError


@pytest.mark.parametrize("stream", [None, _Broken()], ids=["no stream", "nobody reads"])
def test_a_log_that_cannot_be_written_stops_nobody(
    monkeypatch: pytest.MonkeyPatch, stream: StringIO | None
) -> None:
    monkeypatch.setattr(sys, "stderr", stream)

    Log("info").write("info", "mcp")


def test_an_error_is_named_by_its_kind_and_place_without_its_text() -> None:
    def raises() -> None:
        raise ValueError("a secret")

    with pytest.raises(ValueError, match="secret") as raised:
        raises()

    assert where(raised.value, trace=False) == "ValueError"
    assert where(raised.value).startswith("ValueError at raises:")
    assert "secret" not in where(raised.value)
