"""A process that reads large calls and results, one after another, as they come by its input.

    python -m nacre.adapters.screening.process < REQUESTS > ANSWERS

A message is the length of a head and of a body, eight bytes each, then the head as JSON and the
body. It ends when its input does.
"""

import json
import struct
import sys
from typing import Any, BinaryIO

_LENGTHS = struct.Struct(">QQ")


def send(stream: BinaryIO, head: dict[str, Any], body: bytes) -> None:
    """Write one message."""
    spelled = json.dumps(head).encode()
    stream.write(_LENGTHS.pack(len(spelled), len(body)) + spelled)
    stream.write(body)
    stream.flush()


def receive(stream: BinaryIO) -> tuple[dict[str, Any], bytes] | None:
    """Read one message; return None after the last one."""
    lengths = stream.read(_LENGTHS.size)
    if len(lengths) < _LENGTHS.size:
        return None
    head_size, body_size = _LENGTHS.unpack(lengths)
    head, body = stream.read(head_size), stream.read(body_size)
    if len(head) < head_size or len(body) < body_size:
        return None
    facts: dict[str, Any] = json.loads(head)
    return facts, body


def main() -> None:
    """Answer requests until the input ends."""
    reading, writing = sys.stdin.buffer, sys.stdout.buffer
    while (message := receive(reading)) is not None:
        head, body = message
        work = _read if "sent" in head else _read_call if "deciding" in head else _screened
        answer = work(head, body)
        send(writing, *(answer or ({"is_other": True}, b"")))


Answer = tuple[dict[str, Any], bytes]


def _screened(head: dict[str, Any], body: bytes) -> Answer | None:
    # The process that sends requests needs none of these modules.
    from nacre.firewall.enforce.large_results import look, look_at_message  # noqa: PLC0415
    from nacre.firewall.rules.arguments.arguments import JsonNumber  # noqa: PLC0415

    method, sections, lines = head["method"], head["sections"], head["lines"]
    findings = (
        look(body, method, sections)
        if lines is None
        else look_at_message(body, method, sections, lines=lines)
    )
    if findings is None:
        return None
    facts = {
        "is_other": False,
        "id": findings.id,
        "is_number": type(findings.id) is JsonNumber,
        "objection": findings.objection,
        "doubt": findings.doubt,
        "note": findings.note,
        "is_changed": findings.changed is not None,
        "members": findings.members,
    }
    return facts, findings.changed or b""


def _read(head: dict[str, Any], body: bytes) -> Answer | None:
    from nacre.adapters.screening.answer_reader import read_answer  # noqa: PLC0415 - as above

    read = read_answer(body, dict(head["sent"]), head["version"])
    if read is None:
        return None
    members = read.result.members
    facts = {
        "is_other": False,
        "id": read.id,
        "shown": read.shown,
        "uris": read.result.uris,
        "members": [(name, len(member)) for name, member in members.items()],
    }
    return facts, b"".join(members.values())


def _read_call(head: dict[str, Any], body: bytes) -> Answer | None:
    from nacre.firewall.enforce.large_calls import read_call  # noqa: PLC0415 - as above
    from nacre.protocol import strict_json  # noqa: PLC0415 - as above

    def encoded(arguments: Any) -> tuple[bytes, bytes]:
        # As the official client writes a line, and the body of an HTTP request.
        from pydantic_core import to_json  # noqa: PLC0415 - as above

        return to_json(arguments), strict_json.encode(arguments)

    reply = read_call(body, head, encoded)
    return None if reply is None else ({**reply[0], "is_other": False}, reply[1])


if __name__ == "__main__":
    main()
