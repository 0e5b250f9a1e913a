"""Traces sent by the SDK of OpenTelemetry.

`tracer.OtelTracer` records spans as `core.traces` asks for them; the SDK exports them in a thread.
"""
