"""The export of traces, when the environment names a receiver."""

import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

from nacre.core import traces

if TYPE_CHECKING:
    from nacre.adapters.otel.tracer import OtelTracer
    from nacre.wiring.settings import Settings

_MISSING = (
    "nacre: traces are off: OTEL_EXPORTER_OTLP_ENDPOINT is set, but the SDK is not installed; "
    "in your clone run 'make setup', or pip install '.[otel]'\n"
)
_PROTOCOL = "nacre: traces are off: OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf\n"


def start_traces(settings: "Settings") -> "OtelTracer | None":
    """Record and send spans from now on, if the settings say so and nothing records yet.

    The variables are often set for all programs of a machine, so what is missing is no error.
    """
    if not settings.sends_traces or traces.recorder() is not None:
        return None
    if settings.traces_protocol not in ("", "http/protobuf"):
        sys.stderr.write(_PROTOCOL)
        return None
    try:
        is_installed = find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:
        is_installed = False
    if not is_installed or find_spec("opentelemetry.sdk") is None:
        sys.stderr.write(_MISSING)
        return None
    from nacre.adapters.otel.tracer import OtelTracer

    tracer = OtelTracer("nacre")
    traces.record_with(tracer)
    return tracer
