"""The guard: whatever both sides send, nothing undecided goes on, and nothing breaks."""

import json

from nacre.firewall.proxy.upstream.message_ids import (
    cancellation,
    is_initialize,
    is_response,
    message_id,
    request_ids,
    response_ids,
    with_id,
)
from tests.firewall.enforce.test_guard_fuzz import PIECES, check, conversation
from tests.firewall.enforce.test_guard_fuzz import SEEDS as MESSAGES
from tests.firewall.guarding import encoded

LENGTH = 400
SEEDS = (
    *(b"\0" + encoded(each) for each in MESSAGES),
    *(b"\0" + encoded(each).replace(b", ", b",").replace(b": ", b":") for each in MESSAGES),
    b"\1" + json.dumps(MESSAGES[:3]).encode(),
    *(b"\0" + each for each in PIECES),
)
SCENES = (conversation(batches=False), conversation(batches=True))


def one(data: bytes) -> None:
    """Send the input from both ends; its first byte says whether batches are spoken."""
    raw = data[1:]
    check(SCENES[(data[:1] or b"\0")[0] % 2], raw)
    assert not set(request_ids(raw)) & set(response_ids(raw)) or raw.lstrip().startswith(b"[")
    told = with_id(raw, "a")
    if told is not raw:
        answer = json.loads(told)
        assert answer["id"] == "a"
        assert set(answer["error"]) >= {"code", "message"}
    assert is_response(raw) != is_initialize(raw) or not is_response(raw)
    id_ = message_id(raw)
    assert id_ is None or json.loads(cancellation(id_))["params"]["requestId"] is not None
