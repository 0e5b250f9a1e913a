"""How many modules of the package one warm call touches, and how often it changes folder.

`python tests/benchmarks/call_walk.py [CHECKOUT...]` starts `nacre serve` from each checkout (from
this one without arguments), calls `update_notes` with one scene over HTTP, and prints a table.
`--list` prints the modules as well, in the order in which the call first enters them.

Every call of a Python function of the package counts, from the arrival of the request's bytes to
its line in the log. A folder changes when the function before lies in another folder. Only the
threads that carry the call count: the event loop's and the one that runs the tool. Workers that
run patrols in the background do not.
"""

import contextlib
import http.client
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import urlsplit

HERE = Path(__file__).parents[2]
_CALLS = 12
_WARM = 5  # calls before the first one that is counted
_QUIET_SECONDS = 0.15  # in which the server finishes a call after its answer was sent
_START_SECONDS = 60


def measure(checkout: Path) -> list[str]:
    """Return the modules that the quietest of several calls enters, in order, with repetitions."""
    done = subprocess.run(
        [sys.executable, __file__, "--record", str(checkout)],
        capture_output=True,
        text=True,
        timeout=10 * _START_SECONDS,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    modules: list[str] = json.loads(done.stdout)
    return modules


def folder_changes(modules: Sequence[str]) -> int:
    """Return how often the folder of a module differs from that of the module before."""
    return _changes([module.rpartition("/")[0] for module in modules])


def product_changes(modules: Sequence[str]) -> int:
    """Return the same for the folders of the package itself, one for each product.

    Version 0.1.0 had no others, so this compares a tree of nested folders with it.
    """
    return _changes([module.rpartition("/")[0].partition("/")[0] for module in modules])


def _changes(folders: Sequence[str]) -> int:
    return sum(before != after for before, after in pairwise(folders))


class _Recorder:
    """Notes each function of a package that the call's threads enter, while it is on."""

    def __init__(self, package: str) -> None:
        self._package = package
        self._threads: dict[int, list[str]] = {}
        self._is_on = False

    def start(self) -> None:
        self._threads = {}
        self._is_on = True

    def stop(self) -> list[str]:
        """Return the modules, those of the event loop first."""
        self._is_on = False
        names = {thread.ident: thread.name for thread in threading.enumerate()}
        carrying = ("MainThread", "call")
        return [
            module
            for name in carrying
            for ident, modules in self._threads.items()
            if names.get(ident) == name
            for module in modules
        ]

    def profile(self, frame: FrameType, event: str, _argument: Any) -> None:
        if self._is_on and event == "call":
            file = frame.f_code.co_filename
            if file.startswith(self._package):
                modules = self._threads.setdefault(threading.get_ident(), [])
                modules.append(file[len(self._package) :])


class _Client:
    """A client of the server that runs in this process; its own thread is not recorded."""

    def __init__(self, recorder: _Recorder, shown: io.StringIO) -> None:
        self._recorder = recorder
        self._shown = shown
        self.quietest: list[str] = []
        self.problem: Exception | None = None

    def run(self) -> None:
        sys.setprofile(None)
        try:
            self._call_tool()
        except Exception as error:  # noqa: BLE001 - the main thread raises it
            self.problem = error
        os.kill(os.getpid(), signal.SIGINT)

    def _call_tool(self) -> None:
        url, token = self._address()
        connection = http.client.HTTPConnection(url.netloc)
        headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": "2025-11-25",
            "authorization": f"Bearer {token}",
        }
        for number in range(_CALLS):
            scene = {
                "action": f"Walked with Bob to the harbour, trip {number}.",
                "actors": ["Bob"],
                "when": ["2026-01-02"],
            }
            params = {"name": "update_notes", "arguments": {"scenes": [scene]}}
            body = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
            self._recorder.start()
            connection.request("POST", url.path, json.dumps(body), headers)
            result = json.loads(connection.getresponse().read())["result"]
            time.sleep(_QUIET_SECONDS)
            modules = self._recorder.stop()
            if result.get("isError"):
                raise RuntimeError(str(result))
            is_quieter = not self.quietest or len(modules) < len(self.quietest)
            if number >= _WARM and is_quieter:
                self.quietest = modules

    def _address(self) -> Any:
        end = time.monotonic() + _START_SECONDS
        while "Sign in once" not in self._shown.getvalue() and time.monotonic() < end:
            time.sleep(0.05)
        text = self._shown.getvalue()
        url, token = re.search(r"URL: +(\S+)", text), re.search(r"Token: +(\S+)", text)
        if url is None or token is None:
            raise RuntimeError(f"the server showed no URL or no token: {text}")
        return urlsplit(url[1]), token[1]


def _record(checkout: Path) -> None:
    """Run `nacre serve` here, and print the modules of its quietest call as JSON."""
    sys.path.insert(0, str(checkout / "shared"))
    recorder, shown = _Recorder(f"{checkout / 'shared' / 'nacre'}{os.sep}"), io.StringIO()
    client = _Client(recorder, shown)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NACRE_HOME"] = folder
        from nacre.cli.main import main  # from the checkout

        threading.setprofile(recorder.profile)
        sys.setprofile(recorder.profile)
        threading.Thread(target=client.run, daemon=True).start()
        sys.argv = ["nacre", "serve", "--port", "0"]
        with contextlib.redirect_stdout(shown), contextlib.suppress(SystemExit):
            main()
    if client.problem is not None:
        raise client.problem
    print(json.dumps(client.quietest))


def _main(arguments: Sequence[str]) -> None:
    if arguments[:1] == ["--record"]:
        _record(Path(arguments[1]).absolute())
        return
    checkouts = [Path(argument) for argument in arguments if argument != "--list"] or [HERE]
    rows: list[tuple[object, ...]] = []
    for checkout in checkouts:
        modules = measure(checkout)
        changes = folder_changes(modules), product_changes(modules)
        rows.append((checkout, len(set(modules)), *changes, len(modules)))
        if "--list" in arguments:
            print("\n".join(dict.fromkeys(modules)))
    header = ("Checkout", "Modules", "Folder changes", "Product changes", "Function calls")
    for row in (header, ["---"] * len(header), *rows):
        print(f"| {' | '.join(map(str, row))} |")


if __name__ == "__main__":
    _main(sys.argv[1:])
