"""The Runtime API of Lambda on loopback, around the real runtime client in a process."""

import json
import os
import queue
import subprocess
import tempfile
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_SNAPSHOT = "snap-start"
_PATIENCE_SECONDS = 60  # a machine with much else to do; nothing is measured by it


@dataclass(frozen=True, slots=True)
class Start:
    """The cost of reaching the first request for work."""

    wall_ms: float
    cpu_ms: float
    peak_kb: int


class FunctionError(Exception):
    """The runtime reported an error of the handler, or of its start."""

    def __init__(self, report: Mapping[str, Any]) -> None:
        super().__init__(f"{report.get('errorType')}: {report.get('errorMessage')}")
        self.report = report


class Function:
    """One execution environment: the runtime client, a handler and its layers."""

    def __init__(
        self,
        *,
        python: Path,
        task: Path,
        layers: Sequence[Path] = (),
        handler: str = "handler.handle",
        environment: Mapping[str, str] | None = None,
        memory: int = 1024,
        wrapper: Sequence[str] = (),
    ) -> None:
        self._server = _Server(("127.0.0.1", 0), _Api)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._command = [*wrapper, str(python), "-m", "awslambdaric", handler]
        self._task = task
        self._is_snapshot = (environment or {}).get("AWS_LAMBDA_INITIALIZATION_TYPE") == _SNAPSHOT
        self._environment = {
            "PATH": os.defpath,
            "LANG": "en_US.UTF-8",
            "TZ": ":UTC",
            "PYTHONPATH": os.pathsep.join(map(str, [task, *layers])),
            "PYTHONDONTWRITEBYTECODE": "1",  # as under the read-only mount of Lambda
            "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{self._server.server_port}",
            "AWS_LAMBDA_FUNCTION_NAME": "function",
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(memory),
            "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
            "AWS_LAMBDA_LOG_FORMAT": "JSON",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "LAMBDA_TASK_ROOT": str(task),
            **(environment or {}),
        }
        self.start: Start
        self.connected_in_snapshot: list[str] = []

    def __enter__(self) -> Self:
        self._thread.start()
        began = time.perf_counter()
        # A file, not a pipe: it holds a line as soon as the function has written it.
        self._output = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            self._command,
            cwd=self._task,
            env=self._environment,
            stdout=self._output,
            stderr=subprocess.STDOUT,
        )
        self._server.pid = self._process.pid
        try:
            if self._is_snapshot:
                self._next("ready")
                self.connected_in_snapshot = _connections(
                    self._process.pid, self._server.server_port
                )
                self._server.restored.set()
            first = self._next("asked")
        except BaseException:
            self._end()
            raise
        self.start = Start((first.at - began) * 1000, first.cpu_ms, first.peak_kb)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def invoke(self, event: Mapping[str, Any]) -> Any:
        """Return the handler's answer, or raise FunctionError."""
        self._server.work.put(json.dumps(event).encode())
        try:
            answer = self._next("answered").body
        finally:
            self._next("asked")
        return json.loads(answer)

    def kill(self) -> None:
        """End the process at once, whatever it is doing."""
        self._process.kill()

    @property
    def logs(self) -> str:
        """The output of the function so far."""
        if self._output.closed:
            return self._logs_at_end
        length = os.fstat(self._output.fileno()).st_size
        return os.pread(self._output.fileno(), length, 0).decode()

    def _next(self, kind: str) -> "_Report":
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while time.monotonic() < deadline:
            try:
                report = self._server.reports.get(timeout=0.1)
            except queue.Empty:
                if self._process.poll() is None:
                    continue
                raise FunctionError({"errorType": "Exit", "errorMessage": self.logs}) from None
            if report.kind == "failed":
                raise FunctionError(json.loads(report.body))
            assert report.kind == kind
            return report
        raise TimeoutError(self.logs)

    def _end(self) -> None:
        self._process.kill()
        self._process.wait()
        self._logs_at_end = self.logs
        self._output.close()
        self._server.restored.set()
        self._server.work.put(None)
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@dataclass(frozen=True, slots=True)
class _Report:
    kind: str  # ready for the snapshot, asked for work, answered, or failed
    at: float
    body: bytes = b""
    cpu_ms: float = 0.0
    peak_kb: int = 0


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], api: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(address, api)
        self.reports: queue.Queue[_Report] = queue.Queue()
        self.work: queue.Queue[bytes | None] = queue.Queue()
        self.restored = threading.Event()
        self.pid = 0

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a runtime that ends hangs up."""


class _Api(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Delayed acknowledgements would add 40 ms to every answer.
    disable_nagle_algorithm = True
    wbufsize = -1
    server: _Server

    def do_GET(self) -> None:
        if self.path.endswith("/restore/next"):
            self.server.reports.put(_Report("ready", time.perf_counter()))
            self.server.restored.wait()
            self._answer(200, b"", {})
            return
        now = time.perf_counter()
        cpu_ms, peak_kb = _usage(self.server.pid)
        self.server.reports.put(_Report("asked", now, cpu_ms=cpu_ms, peak_kb=peak_kb))
        event = self.server.work.get()
        if event is None:
            self.close_connection = True
            return
        headers = {
            "Lambda-Runtime-Aws-Request-Id": str(uuid.uuid4()),
            "Lambda-Runtime-Deadline-Ms": str(int((time.time() + 30) * 1000)),
            "Lambda-Runtime-Invoked-Function-Arn": (
                "arn:aws:lambda:us-east-1:123456789012:function:function"
            ),
            "Lambda-Runtime-Trace-Id": "Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=0",
            "Content-Type": "application/json",
        }
        self._answer(200, event, headers)

    def do_POST(self) -> None:
        # Reported before it is acknowledged: the runtime asks for more right afterwards.
        kind = "answered" if self.path.endswith("/response") else "failed"
        self.server.reports.put(_Report(kind, time.perf_counter(), self._body()))
        self._answer(202, b'{"status":"OK"}', {"Content-Type": "application/json"})

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _answer(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()  # one write, headers and body together

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def _connections(pid: int, own_port: int) -> list[str]:
    """Return where a process is connected to, but for this server."""
    links = [each.readlink().name for each in Path(f"/proc/{pid}/fd").iterdir()]
    inodes = {link[len("socket:[") : -1] for link in links if link.startswith("socket:[")}
    rows = [
        line.split()
        for family in ("tcp", "tcp6", "udp")
        for line in Path(f"/proc/{pid}/net/{family}").read_text().splitlines()[1:]
    ]
    remote = [row[2] for row in rows if row[9] in inodes]
    return [each for each in remote if int(each.rpartition(":")[2], 16) != own_port]


def _usage(pid: int) -> tuple[float, int]:
    """Return the processor time in milliseconds and the peak memory of a process."""
    try:
        threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
        nanoseconds = sum(int(thread.read_text().split()[0]) for thread in threads)
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:  # it has ended, which the report that follows will say
        return 0.0, 0
    peak = next((line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")), "0")
    return nanoseconds / 1e6, int(peak)
