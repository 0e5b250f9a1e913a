"""What models and other services answer: used only as far as it is what was asked for."""

import json
from dataclasses import replace

import numpy as np

from nacre.adapters.aws.dynamodb.attribute_values import decode_item, encode_item
from nacre.adapters.aws.dynamodb.get import _kind
from nacre.adapters.openai.chat_stream import StreamedAnswer
from nacre.adapters.openai.embedder import OpenAIEmbedder
from nacre.adapters.openai.faults import PassingError, _retry_after
from nacre.adapters.openai.model import _answer_in, _Question
from nacre.adapters.pdf.reader import _document_text
from nacre.being.patrol.planning.answer_fields import UnusableError, answer_in
from nacre.being.patrol.planning.model_answers import (
    diary_in,
    digest_in,
    merge_in,
    notes_in,
    split_in,
)
from nacre.core.errors import InvalidInputError, ModelError, UnavailableError
from nacre.core.limits import MAX_TOKENS_TOLD, PLANNED_TEXT_BYTES
from nacre.jobs.job import UnknownJobError, decode_job, encode_job
from tests.being.memory.keeping import a_node

GROUP = [replace(a_node(1), trust="user"), replace(a_node(2), trust="import")]
EMBEDDER = OpenAIEmbedder("m", 3, key=str)
QUESTION = _Question("s", "u", {}, 10)
LENGTH = 600
SEEDS = (
    b"",
    b'\0<think>{"a":1}</think>```json\n{"merge":[1,2],"action":"a","supersede":[]}\n```',
    b'\0{"split":true,"first_label":"a","second_label":"b","label":"l","digest":"d","diary":"x"}',
    b'\0{"notes":["a","a"],"merge":[],"supersede":[{"old":1,"new":2,"why":"w"}]}',
    b'\1{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],"usage":{}}',
    b'\1{"choices":[{"message":{"content":[{"text":"a"}],"refusal":null,"images":'
    b'[{"image_url":{"url":"data:image/png;base64,AAAA"}}]}}]}',
    b'\2data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: {"choices":[{"delta":{"tool_calls":'
    b'[{"index":0,"id":"1","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"stop"}]}'
    b"\n\ndata: [DONE]\n\n",
    b'\2: beat\ndata: {"error":{"code":"x","message":"context length"}}\n',
    b'\3[{"index":0,"embedding":[1,0.5,-1]},{"index":1,"embedding":[0,0,0]}]',
    b'\4{"version":1,"kind":"patrol","being_id":"b","refs":{"a":"b"}}',
    b'\5{"a":{"S":"x"},"n":{"N":"1.5"},"l":{"L":[{"BOOL":true},{"NULL":true}]},"m":{"M":{}}}',
    b'\6{"__type":"com.amazonaws#ThrottlingException"}',
    b'\6{"pages":2}\n{"text":"a"}\n{"text":"b"}\n',
    b"\0061.5",
    b"\6" + b"[" * 5000,
)


def one(data: bytes) -> None:
    """Take the input for an answer of the service that its first byte says."""
    kind, raw = (data[:1] or b"\0")[0] % 7, data[1:]
    match kind:
        case 0:
            _thought(raw.decode("utf-8", "surrogateescape"))
        case 1:
            _whole(raw)
        case 2:
            _stream(raw)
        case 3:
            _vectors(raw)
        case 4:
            _job(raw.decode("utf-8", "replace"))
        case 5:
            _item(raw)
        case _:
            _small(raw)


def _thought(text: str) -> None:
    try:
        answer = answer_in(text)
    except UnusableError as error:
        assert text not in str(error) or len(text) < 20
        return
    for read in (lambda: merge_in(answer, GROUP), lambda: split_in(answer),
                 lambda: digest_in(answer), lambda: diary_in(answer),
                 lambda: notes_in(answer)):  # fmt: skip
        try:
            found = read()
        except UnusableError:
            continue
        assert len(str(found).encode()) < 40 * PLANNED_TEXT_BYTES
    try:
        plan = merge_in(answer, GROUP)
    except UnusableError:
        return
    ids = {node.node_id for node in GROUP}
    assert set(plan.merge) <= ids
    # A stranger's text never ends what the user has said.
    assert all(pair.new != GROUP[1].node_id for pair in plan.supersede)


def _whole(raw: bytes) -> None:
    try:
        plain = _answer_in(raw, QUESTION)
    except ModelError as error:
        assert error.output_tokens <= MAX_TOKENS_TOLD
    else:
        assert 0 <= plain.input_tokens <= MAX_TOKENS_TOLD
    stream = StreamedAnswer(5)
    try:
        stream.read_body(raw)
        _check(stream)
    except (ModelError, PassingError):
        return


def _stream(raw: bytes) -> None:
    said = []
    for size in (len(raw) or 1, 7):
        stream = StreamedAnswer(5)
        try:
            for at in range(0, len(raw), size):
                stream.feed(raw[at : at + size])
            stream.end()
            said.append(_check(stream))
        except (ModelError, PassingError) as error:
            said.append(type(error).__name__)
    assert said[0] == said[1]


def _check(stream: StreamedAnswer) -> str:
    answer = stream.answer()
    assert 0 <= answer.input_tokens <= MAX_TOKENS_TOLD
    assert 0 <= answer.output_tokens <= max(MAX_TOKENS_TOLD, len(answer.text))
    answer.text.encode()
    ids = [each.id for each in answer.requests]
    assert len(set(ids)) == len(ids)
    for each in answer.requests:
        assert each.name
        f"{each.id}{each.name}{each.arguments}".encode()
    return repr(answer)


def _vectors(raw: bytes) -> None:
    try:
        told = json.loads(raw)
    except (ValueError, RecursionError):
        return
    with np.errstate(all="ignore"):
        try:
            vectors = EMBEDDER._checked({"data": told}, 2)
        except UnavailableError:
            return
    assert [len(vector) for vector in vectors] == [12, 12]
    lengths = [np.linalg.norm(np.frombuffer(each, "<f4").astype(float)) for each in vectors]
    assert all(length == 0 or abs(length - 1) < 1e-3 for length in lengths)


def _job(text: str) -> None:
    try:
        job = decode_job(text)
    except UnknownJobError as error:
        assert len(str(error)) < 200
        return
    assert decode_job(encode_job(job)) == job


def _item(raw: bytes) -> None:
    """Check that an item that we write in DynamoDB's form is read as it was."""
    try:
        item = json.loads(raw)
    except (ValueError, RecursionError):
        return
    if isinstance(item, dict) and _fits(item):
        assert decode_item(encode_item(item)) == item


def _fits(value: object) -> bool:
    match value:
        case dict():
            return all(map(_fits, value.values()))
        case list():
            return all(map(_fits, value))
        case int() | float():
            return abs(value) < 2**53
        case _:
            return True


def _small(raw: bytes) -> None:
    assert isinstance(_kind(raw), str)
    wait = _retry_after({"retry-after": raw.decode("latin-1")})
    assert wait is None or 0 <= wait < float("inf")
    try:
        told = _document_text(raw)
    except InvalidInputError:
        return
    assert told.read >= 0
