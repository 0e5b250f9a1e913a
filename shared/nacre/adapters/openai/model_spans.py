"""Spans of questions to a language model, with the names of OpenTelemetry's conventions."""

from contextlib import AbstractContextManager

from nacre.core.traces import Span, span


def model_span(model: str) -> AbstractContextManager[Span]:
    """Return the span of one question, with its retries."""
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": model}
    return span(f"chat {model}", attributes, "client")


def count_tokens(span: Span, input_tokens: int, output_tokens: int) -> None:
    """Set the tokens that an answer has cost."""
    span.set("gen_ai.usage.input_tokens", input_tokens)
    span.set("gen_ai.usage.output_tokens", output_tokens)
