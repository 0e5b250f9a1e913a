"""Lines and events: however a stream is cut, it says the same; and what goes on is read alike."""

from nacre.firewall.proxy.stdio.lines import LineSplitter
from nacre.http_client.server_sent_events import HEARTBEAT, Event, EventReader

MOST = 60
LENGTH = 120
SEEDS = (
    b"",
    b'\x01\x05{"a":1}\n{"b":2}\r\n\n  \n{"c":3}',
    b"\x03\x09event: message\ndata: {}\nid: 1\nretry: 10\n\n: beat\n\ndata: a\ndata: b\r\n\r\n",
    b"\x07\x02\xef\xbb\xbfdata:x\r\rid: \x00\rdata\n\n",
    b"\x04\x01data: " + b"y" * 200 + b"\nid: 5\n\ndata: z\n\n",
)


def one(data: bytes) -> None:
    """Feed the input whole, in pieces and byte by byte; its first two bytes say where to cut."""
    step, offset, stream = data[:1], data[1:2], data[2:]
    size = (step[0] if step else 0) % 17 + 1
    first = (offset[0] if offset else 0) % size
    ways = [
        [stream],
        [stream[:first], *(stream[at : at + size] for at in range(first, len(stream), size))],
        [stream[at : at + 1] for at in range(len(stream))],
    ]
    _check_lines(stream, ways)
    _check_events(ways)


def _check_lines(stream: bytes, ways: list[list[bytes]]) -> None:
    whole = [line.removesuffix(b"\r") for line in stream.split(b"\n") if line and line.strip()]
    for pieces in ways:
        lines = LineSplitter()
        found = [line for piece in pieces for line in lines.feed(piece)]
        assert found + lines.end() == whole
        assert lines.end() == []


def _check_events(ways: list[list[bytes]]) -> None:
    for most in (10_000, MOST):
        found = []
        for pieces in ways:
            reader = EventReader(most)
            found.append([event for piece in pieces for event in reader.feed(piece)])
            for event in found[-1]:
                _check_event(event, most)
        if most > LENGTH:  # what is left of an event that is too long depends on the pieces
            assert found[0] == found[1] == found[2]
        else:
            told = [[(each.too_long, each.data) for each in way] for way in found]
            assert told[0] == told[1] == told[2], told


def _check_event(event: Event, most: int) -> None:
    assert event.data is None or len(event.data) <= most
    assert not (event.too_long and event.data is not None)
    written = event.encode()
    again = list(EventReader(10_000).feed(written))
    if written == HEARTBEAT:
        assert again == [Event()]
    else:
        assert again == [Event(event.name, event.data, event.id, event.retry)]
