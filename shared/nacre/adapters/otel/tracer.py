"""Spans recorded by the SDK of OpenTelemetry, and sent over OTLP by its exporter.

The SDK reads the variables OTEL_*, such as OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_TRACES_SAMPLER.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from opentelemetry import context, trace
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from nacre import __version__
from nacre.core.traces import Kind, Span, Value
from nacre.protocol.context import InputRequired, TaskWanted

_KINDS = {
    "internal": trace.SpanKind.INTERNAL,
    "server": trace.SpanKind.SERVER,
    "client": trace.SpanKind.CLIENT,
}
_TRACE = TraceContextTextMapPropagator()
_BAGGAGE = W3CBaggagePropagator()


class _Recorded:
    """A span of the SDK."""

    def __init__(self, span: trace.Span, parent: context.Context | None = None) -> None:
        self._span = span
        self._context = trace.set_span_in_context(span, parent)

    def set(self, name: str, value: Value) -> None:
        self._span.set_attribute(name, value)

    def fail(self, kind: str) -> None:
        # Without a description: the text of an error may hold more than its class.
        self._span.set_status(trace.StatusCode.ERROR)
        self._span.set_attribute("error.type", kind)

    def end(self) -> None:
        self._span.end()

    @contextmanager
    def active(self) -> Iterator[None]:
        token = context.attach(self._context)
        try:
            yield
        finally:
            context.detach(token)


class OtelTracer:
    """Records the spans of this process. It leaves the SDK's global provider to others."""

    def __init__(self, service: str) -> None:
        # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES of the environment win.
        resource = Resource.create({"service.version": __version__})
        if str(resource.attributes["service.name"]).startswith("unknown_service"):
            resource = resource.merge(Resource({"service.name": service}))
        self._provider = TracerProvider(resource=resource)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("nacre", __version__)

    def root(
        self, name: str, attributes: Mapping[str, Value], trace: Mapping[str, str]
    ) -> _Recorded:
        """Begin the span of a request."""
        parent = _BAGGAGE.extract(trace, _TRACE.extract(trace, context.Context()))
        span = self._tracer.start_span(
            name, parent, kind=_KINDS["server"], attributes=dict(attributes)
        )
        return _Recorded(span, parent)

    @contextmanager
    def span(
        self, name: str, attributes: Mapping[str, Value], kind: Kind, trace: Mapping[str, str]
    ) -> Iterator[Span]:
        """Return the span of a block."""
        parent = None
        if trace and not get_current_span().get_span_context().is_valid:
            parent = _TRACE.extract(trace, context.Context())
        recorded = _Recorded(
            self._tracer.start_span(name, parent, kind=_KINDS[kind], attributes=dict(attributes))
        )
        try:
            with recorded.active():
                yield recorded
        except (InputRequired, TaskWanted):  # the call goes on later
            raise
        except Exception as error:
            recorded.fail(type(error).__name__)
            raise
        finally:
            recorded.end()

    def passed_on(self, trace: Mapping[str, str]) -> Mapping[str, str]:
        """Return the active span as the parent; the caller's baggage stays as it came."""
        members: dict[str, str] = {}
        _TRACE.inject(members)
        if not members:
            return trace
        return {**members, "baggage": trace["baggage"]} if "baggage" in trace else members

    def flush(self) -> None:
        """Send the spans that wait."""
        self._provider.force_flush()

    def close(self) -> None:
        """Send the spans that wait, and end the thread."""
        self._provider.shutdown()
