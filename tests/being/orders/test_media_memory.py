"""The memory that an order's attachments take, from the wire to the model's endpoint."""

import asyncio
import base64
import json
import tracemalloc
from collections.abc import Callable

import pytest

from nacre.adapters.openai.json_pieces import JsonPieces
from nacre.being.orders.media.chat_parts import MediaAbilities, parts_for
from nacre.being.orders.media.incoming import read_attachments
from nacre.being.orders.media.media_limits import MediaLimits
from nacre.protocol.messages import Request, parse_message
from tests.being.orders.documents import png, sent

SIZE = 2_000_000
TIMES = 3  # at most so many times the attachments' own size


def call(message: str, count: int) -> bytearray:
    images = [sent(png(SIZE), "image/png") for _ in range(count)]
    params = {"name": "order_being", "arguments": {"message": message, "images": images}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return bytearray(json.dumps(request, ensure_ascii=False).encode())


async def ordered(raw: bytearray) -> int:
    """Do what an order does with its attachments; return the size of the model's request."""
    request = parse_message(raw)
    assert isinstance(request, Request)
    arguments = request.params["arguments"]
    attachments = read_attachments(arguments.get("images"), None, MediaLimits.laptop())
    parts = await parts_for(arguments["message"], attachments, MediaAbilities())
    body = JsonPieces({"messages": [{"role": "user", "content": parts}]})
    return sum([len(piece) async for piece in body])


def peak(work: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("message", "count"),
    [
        pytest.param("What is this?", 1, id="one"),
        pytest.param("What is this?", 3, id="three", marks=pytest.mark.slow),
        pytest.param("世界は何ですか", 2, id="beyond ASCII"),
        pytest.param("🐚?", 2, id="beyond the first plane"),
        pytest.param("\\ud83d \n", 2, id="with escapes"),
    ],
)
def test_attachments_are_never_three_times_in_memory(message: str, count: int) -> None:
    request_size = 0

    def work() -> None:
        nonlocal request_size
        raw = call(message, count)  # the buffer that a face reads into
        tracemalloc.reset_peak()
        request_size = asyncio.run(ordered(raw))

    used = peak(work)

    assert request_size > count * SIZE * 4 / 3
    assert used <= TIMES * count * SIZE


def test_reading_attachments_costs_next_to_nothing() -> None:
    images = [sent(png(SIZE), "image/png")]

    assert peak(lambda: read_attachments(images, None, MediaLimits.laptop())) < SIZE / 4


def test_a_text_that_is_refused_is_not_decoded() -> None:
    text = base64.b64encode(bytes(SIZE)).decode()[:-3] + "\n=="

    def refused() -> None:
        with pytest.raises(Exception, match="white space"):
            read_attachments(None, [sent(text, "text/plain")], MediaLimits.laptop())

    assert peak(refused) < SIZE / 4
