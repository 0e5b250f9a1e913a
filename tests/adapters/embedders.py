"""Embedders to test with: a tiny encoder in a folder, and an endpoint on loopback."""

import json
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.scaffolding.server_threads import answering

MARKS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
LETTERS = "abcdefghijklmnopqrstuvwxyz"
WORDS = ("cat", "sofa", "sleeps", "tax", "report", "query", "passage", "title", "!", ":", "the")
SIZE = 16
IR_VERSION = 10  # what onnxruntime has read for years


def write_encoder(folder: Path, *, sentence: bool = False) -> Path:
    """Write an encoder whose states are random rows for its words, and return its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    pieces = [*MARKS, *WORDS, *LETTERS, *(f"##{letter}" for letter in LETTERS)]
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n")
    (folder / "config.json").write_text(json.dumps({"hidden_size": SIZE}))
    rows = np.random.default_rng(1).normal(size=(len(pieces), SIZE)).astype(np.float32)
    rows[[0, 2, 3]] = 0
    nodes = [helper.make_node("Gather", ["rows", "input_ids"], ["last_hidden_state"])]
    answer = helper.make_tensor_value_info(
        "last_hidden_state", TensorProto.FLOAT, ["batch", "length", SIZE]
    )
    if sentence:
        nodes.append(
            helper.make_node(
                "ReduceMean", ["last_hidden_state"], ["sentence"], axes=[1], keepdims=0
            )
        )
        answer = helper.make_tensor_value_info("sentence", TensorProto.FLOAT, ["batch", SIZE])
    graph = helper.make_graph(
        nodes,
        "encoder",
        [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])
            for name in ("input_ids", "attention_mask")
        ],
        [answer],
        [numpy_helper.from_array(rows, "rows")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = IR_VERSION
    onnx.save(model, str(folder / "model.onnx"))
    return folder


class Endpoint:
    """An endpoint that keeps what it was asked and answers as `reply` says."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.reply: Callable[[dict[str, Any]], tuple[int, dict[str, str], bytes]] = vectors


def vectors(asked: dict[str, Any], size: int | None = None) -> tuple[int, dict[str, str], bytes]:
    """Answer with the sum of a random vector for each word."""
    size = size or asked.get("dimensions", 8)
    data = [
        {"object": "embedding", "index": place, "embedding": bag_of_words(text, size)}
        for place, text in enumerate(asked["input"])
    ]
    body = {"object": "list", "data": data, "model": asked["model"], "usage": {}}
    return 200, {}, json.dumps(body).encode()


def bag_of_words(text: str, size: int) -> list[float]:
    """Return a vector that texts with the same words share."""
    total = np.zeros(size)
    for word in text.lower().split():
        total += np.random.default_rng(zlib.crc32(word.encode())).normal(size=size)
    return [float(number) for number in total]


@contextmanager
def endpoint() -> Iterator[Endpoint]:
    """Serve an endpoint on a free port of loopback."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            served.asked.append(asked)
            served.keys.append(self.headers["Authorization"])
            status, headers, body = served.reply(asked)
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    served = Endpoint(f"http://127.0.0.1:{server.server_port}/v1")
    with answering(server):
        yield served
