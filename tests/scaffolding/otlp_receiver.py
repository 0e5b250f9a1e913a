"""A receiver of traces over OTLP on loopback, which keeps what it is sent."""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from nacre.adapters.otel.tracer import OtelTracer
from nacre.core import traces
from tests.scaffolding.server_threads import answering


@dataclass
class ReceivedSpan:
    """A span as it was sent."""

    name: str
    kind: int
    trace_id: str
    span_id: str
    parent_id: str
    attributes: dict[str, Any]
    is_error: bool
    resource: dict[str, Any]


@dataclass
class OtlpReceiver:
    """The spans so far, and the bytes in which they came."""

    url: str = ""
    spans: list[ReceivedSpan] = field(default_factory=list)
    raw: bytes = b""

    def named(self, name: str) -> ReceivedSpan:
        """Return the only span of a name."""
        (span,) = [span for span in self.spans if span.name == name]
        return span


@contextmanager
def otlp_receiver() -> Iterator[OtlpReceiver]:
    """Receive until the block ends; the environment names the receiver so long."""
    receiver = OtlpReceiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers["content-encoding"] == "gzip":
                body = gzip.decompress(body)
            if self.path == "/v1/traces":
                receiver.raw += body
                receiver.spans += _spans(body)
            self.send_response(200)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    receiver.url = f"http://127.0.0.1:{server.server_port}"
    with answering(server), pytest.MonkeyPatch.context() as patch:
        patch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
        yield receiver


@contextmanager
def recorded_traces() -> Iterator[OtelTracer]:
    """Record the traces of this process, for the receiver that the environment names."""
    tracer = OtelTracer("nacre")
    traces.record_with(tracer)
    try:
        yield tracer
    finally:
        traces.record_with(None)
        tracer.close()


def _spans(body: bytes) -> Iterator[ReceivedSpan]:
    for resource_spans in ExportTraceServiceRequest.FromString(body).resource_spans:
        resource = _attributes(resource_spans.resource.attributes)
        for scope_spans in resource_spans.scope_spans:
            for span in scope_spans.spans:
                yield ReceivedSpan(
                    span.name,
                    span.kind,
                    span.trace_id.hex(),
                    span.span_id.hex(),
                    span.parent_span_id.hex(),
                    _attributes(span.attributes),
                    span.status.code == 2,
                    resource,
                )


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in pairs}
