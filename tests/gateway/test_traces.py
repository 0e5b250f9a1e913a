"""The trace of a call: passed on to other servers, and recorded where a receiver is named."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from nacre.adapters.otel.tracer import OtelTracer
from nacre.core import traces
from nacre.jobs.loop import WorkerLoop
from nacre.protocol.context import InputRequired
from nacre.protocol.http import error_map
from tests.gateway.http_upstream import Upstream, http_upstream
from tests.scaffolding.gateway_world import EVERYTHING_GOES, LEGACY, MODERN, World, world
from tests.scaffolding.otlp_receiver import OtlpReceiver, otlp_receiver, recorded_traces

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"
SECRET = "ghp_" + "aB3" * 12


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with http_upstream() as upstream:
        yield upstream


@pytest.fixture
def sent(upstream: Upstream) -> list[dict[str, Any]]:
    """Return the `_meta` of each call that arrives at the server."""
    metas: list[dict[str, Any]] = []
    usual = upstream.answer

    def answer(asked: dict[str, Any]) -> tuple[int, bytes, str]:
        if asked["method"] == "tools/call":
            metas.append(asked["params"].get("_meta", {}))
        return usual(asked)

    upstream.answer = answer  # type: ignore[method-assign]
    return metas


@pytest.fixture
def receiver() -> Iterator[OtlpReceiver]:
    with otlp_receiver() as receiver:
        yield receiver


@pytest.fixture
def tracer(receiver: OtlpReceiver) -> Iterator[OtelTracer]:
    with recorded_traces() as tracer:
        yield tracer


def call(gateway: World, tool: str, meta: dict[str, Any], **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    return gateway.ask("tools/call", params, version=LEGACY)


def test_a_callers_trace_goes_on_unchanged_while_nothing_is_recorded(
    upstream: Upstream, sent: list[dict[str, Any]], tmp_path: Path
) -> None:
    trace = {"traceparent": PARENT, "tracestate": "a=b", "baggage": "user=ann"}
    with world(tmp_path / "w", {"web": {"url": upstream.url}}) as gateway:
        gateway.tools()
        call(gateway, "mcp__web__echo", {**trace, "other": 1})
        call(gateway, "mcp__web__echo", {"traceparent": PARENT + "x", "baggage": "\n"})
        call(gateway, "mcp__web__echo", {"traceparent": PARENT, "baggage": f"key={SECRET}"})
        call(gateway, "mcp__web__echo", {"baggage": f"key={SECRET}"})
    kept = [{name: meta[name] for name in trace if name in meta} for meta in sent]
    assert kept == [trace, {}, {"traceparent": PARENT}, {}]
    assert "other" not in sent[0]


def test_a_recorded_trace_is_continued(
    upstream: Upstream,
    sent: list[dict[str, Any]],
    receiver: OtlpReceiver,
    tracer: OtelTracer,
    tmp_path: Path,
) -> None:
    with world(tmp_path / "w", {"web": {"url": upstream.url}}) as gateway:
        gateway.tools()
        meta = {"traceparent": PARENT, "tracestate": "a=b", "baggage": "user=ann"}
        call(gateway, "mcp__web__echo", meta, words="private words")
    tracer.flush()

    face, decision = receiver.named("tools/call mcp__web__echo"), receiver.named("policy.decide")
    relayed = receiver.named("tools/call echo")
    assert {face.trace_id, decision.trace_id, relayed.trace_id} == {TRACE}
    assert face.parent_id == "00f067aa0ba902b7"
    assert decision.parent_id == relayed.parent_id == face.span_id
    assert sent[0]["traceparent"] == f"00-{TRACE}-{relayed.span_id}-01"
    assert (sent[0]["tracestate"], sent[0]["baggage"]) == ("a=b", "user=ann")
    assert (face.kind, decision.kind, relayed.kind) == (2, 1, 3)
    assert face.attributes == {
        "mcp.method.name": "tools/call",
        "mcp.protocol.version": LEGACY,
        "jsonrpc.request.id": "1",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "mcp__web__echo",
    }
    assert decision.attributes == {
        "nacre.server": "web",
        "nacre.policy.decision": "allow",
    }
    assert relayed.attributes == {
        "mcp.method.name": "tools/call",
        "nacre.server": "web",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "echo",
    }
    assert face.resource["service.name"] == "nacre"
    assert b"private words" not in receiver.raw


def test_a_denied_call_and_a_failing_one_are_recorded_as_such(
    upstream: Upstream, receiver: OtlpReceiver, tracer: OtelTracer, tmp_path: Path
) -> None:
    policy = '[[rule]]\naction = "deny"\ntool = "mcp__web__html"\n' + EVERYTHING_GOES
    with world(tmp_path / "w", {"web": {"url": upstream.url}}, policy=policy) as gateway:
        gateway.tools()
        call(gateway, "mcp__web__html", {})
        upstream.status = 500
        call(gateway, "mcp__web__echo", {"traceparent": PARENT})
        gateway.ask("tools/call", {"name": "no such tool " + SECRET, "arguments": {}})
        for name in (f"mcp__web__{SECRET}", f"mcp__{SECRET}__x", SECRET):
            gateway.ask("prompts/get", {"name": name})
        gateway.ask("resources/read", {"uri": f"mcp://{SECRET}/x"})
    tracer.flush()
    denied = next(span for span in receiver.spans if span.name == "policy.decide")
    assert denied.attributes["nacre.policy.decision"] == "deny"
    assert not any(span.name == "tools/call html" for span in receiver.spans)
    failed = receiver.named("tools/call echo")
    assert (failed.is_error, failed.attributes["error.type"]) == (True, "UpstreamError")
    unknown = receiver.named("tools/call")
    assert (unknown.is_error, unknown.attributes["error.type"]) == (True, "-32602")
    assert SECRET.encode() not in receiver.raw


def test_the_memory_and_the_patrol_are_recorded_without_their_texts(
    receiver: OtlpReceiver, tracer: OtelTracer, tmp_path: Path
) -> None:
    with world(tmp_path / "w") as gateway:
        scene = {"action": "The zebra sleeps in Lisbon", "actors": ["Ann"], "when": ["2026-05-04"]}
        gateway.call("update_notes", scenes=[scene])
        gateway.call("recall", user_message="Where does the zebra sleep?")
        gateway.call("search_memory", query="zebra Lisbon")
        home = gateway.laptop
        worker = WorkerLoop(home.ports.queue, home.worker(error_map), lambda _: None)
        # The call waits for the patrol that the worker runs.
        called = Thread(target=gateway.call, args=("trigger_patrol",), kwargs={"messages": []})
        called.start()
        while called.is_alive():
            if not worker.run_next():
                called.join(0.01)
        gateway.ask("tools/list", version=MODERN)
    tracer.flush()
    names = {span.name for span in receiver.spans}
    assert {
        *("create_memory update_notes", "search_memory recall", "search_memory search"),
        *("tools/call recall", "patrol.run"),
    } <= names
    recall, searched = receiver.named("tools/call recall"), receiver.named("search_memory recall")
    assert searched.parent_id == recall.span_id
    assert receiver.named("create_memory update_notes").attributes == {
        "gen_ai.operation.name": "create_memory",
        "gen_ai.memory.record.count": 1,
    }
    for text in (b"zebra", b"Lisbon"):
        assert text not in receiver.raw


def test_a_span_outside_of_a_request_continues_the_trace_that_it_is_given(
    receiver: OtlpReceiver, tracer: OtelTracer
) -> None:
    with traces.span("task", {}, trace={"traceparent": PARENT}) as task:
        task.set("n", 1)
        with traces.span("inner", {}, trace={"traceparent": PARENT.replace("0af", "1bf")}):
            continued = traces.passed_on({})
    tracer.flush()
    task_span, inner = receiver.named("task"), receiver.named("inner")
    assert (task_span.trace_id, task_span.parent_id) == (TRACE, "00f067aa0ba902b7")
    assert (inner.trace_id, inner.parent_id) == (TRACE, task_span.span_id)
    assert continued == {"traceparent": f"00-{TRACE}-{inner.span_id}-01"}


def test_a_call_that_ends_with_a_question_has_not_failed(
    receiver: OtlpReceiver, tracer: OtelTracer
) -> None:
    for name, error in (("asks", InputRequired({})), ("fails", ValueError(SECRET))):
        with pytest.raises(type(error)), traces.span(name, {}):
            raise error
    tracer.flush()
    assert not receiver.named("asks").is_error
    assert receiver.named("fails").attributes == {"error.type": "ValueError"}
    assert SECRET.encode() not in receiver.raw


OFF = """
import sys
from nacre.faces.mcp_endpoint import dispatcher
from nacre.protocol.dispatch.methods import Dispatcher
from nacre.wiring.laptop import open_laptop
from nacre.wiring.settings import Settings
home = open_laptop(sys.argv[1], Settings.from_environment()._replace(data_folder=sys.argv[1]))
kind = type(dispatcher(home.application)).__name__
loaded = [name for name in sys.modules if "opentelemetry" in name or "traced" in name]
print(kind, loaded)
home.close()
"""


@pytest.mark.parametrize(
    ("variables", "shown"),
    [
        ({}, "Dispatcher []"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h", "OTEL_SDK_DISABLED": "true"}, "Dispatcher []"),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h", "OTEL_TRACES_EXPORTER": "none"},
            "Dispatcher []",
        ),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}, "TracedDispatcher ["),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:9/x"}, "TracedDispatcher ["),
    ],
)
def test_nothing_is_loaded_or_wrapped_unless_a_receiver_is_named(
    variables: dict[str, str], shown: str, tmp_path: Path
) -> None:
    ran = run_off(OFF, variables, tmp_path)
    assert ran.stdout.startswith(shown)
    assert ran.stderr == ""


@pytest.mark.parametrize(
    ("variables", "before", "reason"),
    [
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "", "must be http/protobuf"),
        ({}, "sys.modules['opentelemetry.sdk'] = None", "the SDK is not installed"),
    ],
)
def test_traces_that_cannot_be_sent_are_off_and_say_so(
    variables: dict[str, str], before: str, reason: str, tmp_path: Path
) -> None:
    named = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", **variables}
    ran = run_off(f"import sys\n{before}\n{OFF}", named, tmp_path)
    assert ran.stdout.startswith("Dispatcher ")
    assert "nacre: traces are off" in ran.stderr
    assert reason in ran.stderr


def run_off(
    script: str, variables: dict[str, str], folder: Path
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", script, str(folder / "data")],
        env={"HOME": str(folder), "PYTHONPATH": ":".join(sys.path), **variables},
        capture_output=True,
        text=True,
        check=True,
    )
