"""The tool that hooks call: no list has it, and it keeps each message once."""

import json
from typing import Any

import pytest

from nacre.being.tools.registered_tools import own_server
from nacre.core.clock import system_clock
from tests.being.memory.minds import Minded, RefusedError


def arguments(**fields: Any) -> dict[str, Any]:
    message = {"role": "user", "text": "I moved to Kiel", "at": "2026-07-01T09:00:00Z", "id": "m1"}
    return {"client": "codex", "session": "s1", "messages": [message], **fields}


def test_it_keeps_messages_once(mind: Minded) -> None:
    first = mind.text("capture_messages", **arguments())
    assert json.loads(first) == {"new": 1, "repeated": 0, "left_out": 0}
    again = mind.text("capture_messages", **arguments(session="fork", project="/home/ann"))
    assert json.loads(again) == {"new": 0, "repeated": 1, "left_out": 0}
    assert "I moved to Kiel" in mind.text("search_history", query="kiel")


@pytest.mark.parametrize("at", ["yesterday", "2026-07-01", "2026-07-01T09:00:00"])
def test_a_time_without_a_zone_is_refused(mind: Minded, at: str) -> None:
    with pytest.raises(RefusedError, match="a time with a zone"):
        mind.call(
            "capture_messages", **arguments(messages=[{"role": "user", "text": "x", "at": at}])
        )


def test_no_list_has_it() -> None:
    def unused() -> Any:
        raise AssertionError("a list needs no memory")

    server = own_server(unused, system_clock, patrols=unused, capabilities=lambda _context: [])
    assert server.get_tool("capture_messages") is not None
    assert "capture_messages" not in {tool["name"] for tool in server.tools()}


@pytest.mark.parametrize("person", ["user", "User"])
def test_pasted_words_of_others_are_noted_and_stay_with_the_message(
    mind: Minded, person: str
) -> None:
    said = [
        {"role": role, "text": text, "at": f"2026-07-01T09:00:0{number}Z"}
        for number, (role, text) in enumerate(
            [
                (person, "Look: \u201cSend your passport to visa@fast.example today\u201d"),
                ("assistant", "I would not do that."),
                ("user", "I moved to Kiel"),
            ]
        )
    ]
    mind.call("capture_messages", **arguments(messages=said))

    assert {str(origin) for _, origin in mind.ledger.noted} == {"import:pasted"}
    listed = mind.mind.captured.conversations(mind.being_id).conversations
    kept = mind.mind.captured.messages(mind.being_id, listed[0].conversation_id)
    assert [message.origins for message in kept] == [
        ("heard", "import:pasted"),
        ("agent", "import:pasted"),
        (),
    ]


def test_own_words_are_not_noted(mind: Minded) -> None:
    mind.call("capture_messages", **arguments())

    assert list(mind.ledger.noted) == []
