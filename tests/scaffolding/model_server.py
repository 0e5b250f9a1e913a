"""A language model on the loopback that says what a script tells it to.

    with model_server() as server:
        server.script(failing(429, retry_after="1"), saying({"merge": []}))
        ... OpenAIModel("some-model", key="sk-test", base_url=server.url) ...
        assert server.questions[0].user == "..."

What is in the script is answered in order, and then `server.reply` for good; a reply is a
function of the question.
"""

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.scaffolding.server_threads import answering


@dataclass(frozen=True)
class Question:
    """A request as it came in."""

    path: str
    key: str  # the Authorization header
    body: dict[str, Any]

    @property
    def system(self) -> str:
        return str(self.body["messages"][0]["content"])

    @property
    def user(self) -> str:
        return str(self.body["messages"][-1]["content"])

    @property
    def tools(self) -> list[str]:
        return [tool["function"]["name"] for tool in self.body.get("tools", [])]

    @property
    def asks_format(self) -> bool:
        return "response_format" in self.body


@dataclass(frozen=True)
class Response:
    """What goes back; with `waits_for`, the body's last byte comes when that is set."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    waits_for: threading.Event | None = None
    hangs_up: bool = False


Reply = Callable[[Question], Response]


def completion(
    text: str | None, *, finish: str = "stop", usage: Any = "default", **message: Any
) -> bytes:
    """Return the body of an answer."""
    if usage == "default":
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text, **message},
        "finish_reason": finish,
    }
    answer = {"id": "c", "object": "chat.completion", "created": 1, "choices": [choice]}
    return json.dumps(answer | {"usage": usage}).encode()


def saying(value: Any, **details: Any) -> Reply:
    """Answer with a value as JSON, or with a text as it is."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return lambda _: Response(body=completion(text, **details))


def fenced(value: Any) -> Reply:
    """Answer as chat models like to: JSON in a fence, with a sentence around it."""
    return saying(f"Here is the JSON:\n```json\n{json.dumps(value)}\n```\nAnything else?")


def cut(value: Any, length: int = 20) -> Reply:
    """Answer with JSON that ends too early, and do not say so."""
    return saying(json.dumps(value)[:length])


def stopped_at_length(value: Any) -> Reply:
    """Answer with JSON that ran out of tokens, and say so."""
    return saying(json.dumps(value)[:20], finish="length")


def refusing() -> Reply:
    """Refuse, as the protocol has it."""
    return lambda _: Response(body=completion(None, refusal="I cannot help with that."))


def refusing_in_words() -> Reply:
    """Refuse, as most models do."""
    return saying("I'm sorry, but I can't help with that.")


def failing(status: int, *, retry_after: str | None = None, code: str | None = None) -> Reply:
    """Answer with an error that repeats the key and the question."""

    def reply(question: Question) -> Response:
        words = f"wrong: {question.key} asked {question.user}"
        body = json.dumps({"error": {"message": words, "type": "error", "code": code}}).encode()
        headers = {} if retry_after is None else {"retry-after": retry_after}
        return Response(status, body, headers)

    return reply


def slow(until: threading.Event, value: Any = "late") -> Reply:
    """Send all but the end of the answer until the event is set."""
    body = completion(value if isinstance(value, str) else json.dumps(value))
    return lambda _: Response(body=body, waits_for=until)


def hanging_up() -> Reply:
    """Drop the line in the middle of the answer."""
    return lambda _: Response(body=completion("never whole"), hangs_up=True)


def tool_call(name: str, arguments: Any = None, *, id: str = "call_a") -> dict[str, Any]:
    """Return a call that a model wants made; arguments that are text stay as they are."""
    written = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    return {"id": id, "type": "function", "function": {"name": name, "arguments": written}}


def calling(*calls: dict[str, Any], text: str | None = None, **details: Any) -> Reply:
    """Ask for tools to be called, perhaps with some words before."""
    details = {"finish": "tool_calls", **details}
    return lambda _: Response(body=completion(text, tool_calls=list(calls), **details))


def events(*chunks: Any, done: bool = True) -> Reply:
    """Stream these chunks: values as JSON, bytes as they are."""
    lines = [
        chunk if isinstance(chunk, bytes) else b"data: " + json.dumps(chunk).encode() + b"\n\n"
        for chunk in chunks
    ]
    body = b"".join(lines) + (b"data: [DONE]\n\n" if done else b"")
    return lambda _: Response(body=body, headers={"content-type": "text/event-stream"})


def delta(finish: str | None = None, **message: Any) -> dict[str, Any]:
    """Return one chunk of a stream."""
    return {"choices": [{"index": 0, "delta": message, "finish_reason": finish}]}


def streaming(text: str, *calls: dict[str, Any], pieces: int = 3) -> Reply:
    """Stream an answer in pieces, its calls too, and what it cost at the end."""
    size = max(1, -(-len(text) // pieces))
    chunks = [delta(content=text[at : at + size]) for at in range(0, len(text), size)]
    for number, call in enumerate(calls):
        function = call["function"]
        head = {"index": number, "id": call["id"], "type": "function"}
        chunks.append(
            delta(tool_calls=[{**head, "function": {"name": function["name"], "arguments": ""}}])
        )
        half = len(function["arguments"]) // 2
        parts = (function["arguments"][:half], function["arguments"][half:])
        chunks += [
            delta(tool_calls=[{"index": number, "function": {"arguments": part}}]) for part in parts
        ]
    chunks.append(delta("tool_calls" if calls else "stop"))
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    return events(*chunks, {"choices": [], "usage": usage})


class ModelServer:
    """What the server was asked, and what it will say."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.questions: list[Question] = []
        self.reply: Reply = saying({})
        self.released = threading.Event()  # set when the server ends: nobody waits for ever
        self._script: deque[Reply] = deque()
        self._guard = threading.Lock()

    def script(self, *replies: Reply) -> None:
        """Answer with these next, in order."""
        with self._guard:
            self._script.extend(replies)

    def begin_anew(self) -> None:
        """Forget what was asked, and what was to be said."""
        with self._guard:
            self.questions.clear()
            self._script.clear()

    def respond(self, question: Question) -> Response:
        with self._guard:
            self.questions.append(question)
            reply = self._script.popleft() if self._script else self.reply
        return reply(question)


@contextmanager
def model_server() -> Iterator[ModelServer]:
    """Serve on a free port of the loopback until the block ends."""
    served: list[ModelServer] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # else a second answer on one line waits for 40 ms

        def do_POST(self) -> None:
            size = int(self.headers.get("content-length", "0"))
            body = json.loads(self.rfile.read(size))
            key = self.headers.get("authorization", "")
            response = served[0].respond(Question(self.path, key, body))
            with suppress(OSError):  # whoever lost patience has gone
                self._send(response)

        def _send(self, response: Response) -> None:
            self.send_response(response.status)
            for name, value in {"content-type": "application/json", **response.headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(response.body)))
            self.end_headers()
            if response.waits_for is None and not response.hangs_up:
                self.wfile.write(response.body)
                return
            self.wfile.write(response.body[:-1])
            self.wfile.flush()
            if response.hangs_up:
                self.close_connection = True
                return
            assert response.waits_for is not None
            while not response.waits_for.wait(0.05) and not served[0].released.is_set():
                pass
            self.wfile.write(response.body[-1:])

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    served.append(ModelServer(f"http://127.0.0.1:{server.server_address[1]}/v1"))
    with answering(server):
        try:
            yield served[0]
        finally:
            served[0].released.set()
