"""Spans: what a request does and how long it takes, if somebody records that.

Nobody does unless `record_with` is called, and then a span costs the look at one variable. Names
and attributes hold no secret, no text of a memory and no value of an argument.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Literal, Protocol

Kind = Literal["internal", "server", "client"]
Value = str | int | float | bool


class Span(Protocol):
    """A part of a trace."""

    def set(self, name: str, value: Value) -> None:
        """Set an attribute."""
        ...

    def fail(self, kind: str) -> None:
        """Mark the span as failed, with the class of the error."""
        ...


class RootSpan(Span, Protocol):
    """The span of a request, which is active in several places before it ends."""

    def active(self) -> AbstractContextManager[None]:
        """Make spans that begin within the block a part of this one."""
        ...

    def end(self) -> None:
        """End the span."""
        ...


class Tracer(Protocol):
    """Records spans."""

    def root(
        self, name: str, attributes: Mapping[str, Value], trace: Mapping[str, str]
    ) -> RootSpan:
        """Begin the span of a request; `trace` is the caller's, as `_meta` has it."""
        ...

    def span(
        self, name: str, attributes: Mapping[str, Value], kind: Kind, trace: Mapping[str, str]
    ) -> AbstractContextManager[Span]:
        """Return the span of a block; an exception that leaves the block makes it fail.

        It is a part of the active span. Where none is active, as in the worker of tasks, it
        continues `trace`.
        """
        ...

    def passed_on(self, trace: Mapping[str, str]) -> Mapping[str, str]:
        """Return the members of `_meta` for a request within the active span."""
        ...


class _Nothing:
    """A span that nobody records."""

    def __enter__(self) -> "_Nothing":
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def set(self, name: str, value: Value) -> None:
        """Do nothing."""

    def fail(self, kind: str) -> None:
        """Do nothing."""


_NOTHING = _Nothing()
_NO_TRACE: Mapping[str, str] = {}
_recorder: Tracer | None = None


def record_with(tracer: Tracer | None) -> None:
    """Record all spans of this process from now on; None records none."""
    global _recorder
    _recorder = tracer


def recorder() -> Tracer | None:
    """Return the tracer that records spans, or None."""
    return _recorder


def span(
    name: str,
    attributes: Mapping[str, Value],
    kind: Kind = "internal",
    trace: Mapping[str, str] = _NO_TRACE,
) -> AbstractContextManager[Span]:
    """Return the span of a block, which is nothing while nothing records."""
    return _NOTHING if _recorder is None else _recorder.span(name, attributes, kind, trace)


def passed_on(trace: Mapping[str, str]) -> Mapping[str, str]:
    """Return the trace for a request to another server: continued, or the caller's unchanged."""
    return trace if _recorder is None else _recorder.passed_on(trace)
