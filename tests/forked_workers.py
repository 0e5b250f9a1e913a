"""Run the tests in several processes that are forked when all tests are collected: `--workers 4`.

Workers that import and collect everything for themselves cost a quarter of a run's processor time.
A forked worker starts with all of it and shares the memory.
"""

import contextlib
import os
import random
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from multiprocessing import Value
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any

import pytest
from _pytest.capture import FDCapture

_END = "the worker has no more tests"
_PIECE = 50  # tests; larger pieces of slow ones would still run when all others have ended


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the number of workers; with none, the tests run in this process."""
    parser.addoption("--workers", type=int, default=0, help="run the tests in N forked processes")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run all tests in workers, unless there are none to run or to run them in."""
    count = session.config.getoption("workers")
    if not count or session.config.option.collectonly or session.testsfailed:
        return None
    # The files of several workers alternate: dots alone read better.
    session.config.pluginmanager.getplugin("terminalreporter").showfspath = False
    _Workers(session, count).run()
    return True


class _Tests:
    """The tests that no worker has taken yet."""

    def __init__(self, items: list[pytest.Item], workers: int) -> None:
        self._items = items
        self._workers = workers
        self._first = Value("l", 0)

    def take(self) -> Iterator[pytest.Item]:
        """Yield tests for one worker, in pieces that shrink as fewer are left.

        Neighbours share fixtures, so a piece has up to `_PIECE` of them. Shorter ones at the end
        let all workers end together.
        """
        while True:
            with self._first.get_lock():
                first = self._first.value
                left = len(self._items) - first
                size = max(1, min(_PIECE, left // (4 * self._workers)))
                self._first.value = first + size
            if first >= len(self._items):
                return
            yield from self._items[first : first + size]

    def drop(self) -> None:
        """Leave nothing to take."""
        self._first.value = len(self._items)


class _Workers:
    """The forked processes, seen from the one that reports."""

    def __init__(self, session: pytest.Session, count: int) -> None:
        self._session = session
        self._count = count
        self._tests = _Tests(session.items, count)
        self._running: dict[Connection, str | None] = {}

    def run(self) -> None:
        """Fork the workers and pass their reports on until the last of them ends."""
        processes = dict(self._fork() for _ in range(self._count))
        try:
            while processes:
                for reports in wait(list(processes)):
                    assert isinstance(reports, Connection)
                    try:
                        hook, arguments = reports.recv()
                    except EOFError:
                        os.waitpid(processes.pop(reports), 0)
                        if test := self._running.get(reports, "no test yet"):
                            self._stop(f"the worker that ran {test} has died")
                    else:
                        self._running[reports] = arguments["nodeid"]
                        self._pass_on(hook, arguments)
        finally:
            self._tests.drop()
            for process in processes.values():
                os.waitpid(process, 0)
        if self._session.shouldfail:
            raise self._session.Failed(self._session.shouldfail)

    def _fork(self) -> tuple[Connection, int]:
        receiver, sender = Pipe(duplex=False)
        with warnings.catch_warnings():
            # Python warns of numpy's threads, whose library is prepared for a fork.
            warnings.simplefilter("ignore", DeprecationWarning)
            process = os.fork()
        if process:
            sender.close()
            return receiver, process
        error = None
        try:
            _run_tests(self._session, self._tests, sender)
        except Exception:  # noqa: BLE001 - whatever it is, the other process shows it
            error = traceback.format_exc()
        finally:
            with contextlib.suppress(OSError):  # the other process may be gone
                sender.send((_END, {"nodeid": None, "error": error}))
            os._exit(0)

    def _pass_on(self, hook: str, arguments: dict[str, Any]) -> None:
        if hook == _END:
            if arguments["error"]:
                self._stop(arguments["error"])
            return
        config = self._session.config
        if hook == "pytest_runtest_logreport":
            report = config.hook.pytest_report_from_serializable(config=config, data=arguments)
            arguments = {"report": report}
        getattr(config.hook, hook)(**arguments)
        if self._session.shouldfail:
            self._tests.drop()

    def _stop(self, reason: str) -> None:
        self._session.shouldfail = reason
        self._tests.drop()


class _Reports:
    """A plugin of a worker: sends what happens to its tests to the process that reports."""

    def __init__(self, config: pytest.Config, sender: Connection) -> None:
        self._config = config
        self._sender = sender

    def pytest_runtest_logstart(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        """Send the start of a test."""
        arguments = {"nodeid": nodeid, "location": location}
        self._sender.send(("pytest_runtest_logstart", arguments))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Send the outcome of a test's setup, call or teardown."""
        config = self._config
        arguments = config.hook.pytest_report_to_serializable(config=config, report=report)
        self._sender.send(("pytest_runtest_logreport", arguments))

    def pytest_runtest_logfinish(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        """Send the end of a test."""
        arguments = {"nodeid": nodeid, "location": location}
        self._sender.send(("pytest_runtest_logfinish", arguments))


def _run_tests(session: pytest.Session, tests: _Tests, sender: Connection) -> None:
    """Run tests in this worker until none is left."""
    config = session.config
    random.seed()
    _capture_apart(config)
    config.pluginmanager.unregister(name="terminalreporter")
    config.pluginmanager.register(_Reports(config, sender), "forked-worker-reports")
    # A test's fixtures are closed once it is known which test follows.
    taken = tests.take()
    item = next(taken, None)
    while item is not None:
        following = next(taken, None)
        config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        item = following


def _capture_apart(config: pytest.Config) -> None:
    """Give this worker files of its own for captured output; forked ones share their positions."""
    capturing = config.pluginmanager.getplugin("capturemanager")._global_capturing
    for stream in (capturing.out, capturing.err):
        if isinstance(stream, FDCapture):
            with tempfile.TemporaryFile() as file:
                os.dup2(file.fileno(), stream.tmpfile.fileno())
                os.dup2(file.fileno(), stream.targetfd)
