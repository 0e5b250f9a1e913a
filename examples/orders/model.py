"""A stand-in for a language model, so that this example runs without one.

It speaks as much of OpenAI's protocol as an order needs and tells what it was given: how many
images, and what stands in files. A real model is one setting away.

    python model.py 8765
"""

import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def answer(messages: list[dict[str, Any]]) -> str:
    """Return a text that lists the images and PDFs of this turn, or repeats the earlier answer."""
    content = messages[-1]["content"]
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    texts = [part["text"] for part in parts if part["type"] == "text"]
    images = [part for part in parts if part["type"] == "image_url"]
    sentences = []
    if images:
        sentences.append(f"I was shown {len(images)} image.")
    sentences += [
        f"The PDF says: {text}" for text in re.findall(r"```\n(.*?)\n```", "\n".join(texts))
    ]
    if not sentences:
        before = [message["content"] for message in messages if message["role"] == "assistant"]
        sentences.append(f"As I told you: {before[-1]}" if before else "I have seen nothing yet.")
    return " ".join(sentences)


class Handler(BaseHTTPRequestHandler):
    """Answers chat completions."""

    def do_POST(self) -> None:
        """Answer one question."""
        question = json.loads(self.rfile.read(int(self.headers["content-length"])))
        message = {"role": "assistant", "content": answer(question["messages"])}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        body = json.dumps({"object": "chat.completion", "choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: model.py PORT")
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    print(f"A stand-in for a model: http://127.0.0.1:{server.server_port}/v1", flush=True)
    server.serve_forever()
