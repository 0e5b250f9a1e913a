"""A server on this machine under load: `nacre serve` as a process of its own."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.end_to_end.load.driving import Target
from tests.scaffolding.model_server import ModelServer

ROOT = Path(__file__).parents[3]
_READY_SECONDS = 60
_END_SECONDS = 60
PLAIN = ("-m", "nacre.cli")
COUNTED = ("-m", "tests.end_to_end.load.counted_server")


@dataclass(frozen=True, slots=True)
class Home:
    """A data folder with a Being and its token."""

    folder: Path
    environment: dict[str, str]
    being: str
    token: str

    @classmethod
    def make(cls, folder: Path, model: ModelServer) -> "Home":
        """Make a Being that has a language model."""
        environment = {
            "PATH": os.defpath,
            "HOME": str(folder),
            "NACRE_HOME": str(folder / "data"),
            "PYTHONPATH": os.pathsep.join([str(ROOT / "shared"), str(ROOT)]),
            "NACRE_LLM_BASE_URL": model.url,
            "NACRE_LLM_MODEL": "some-model",
            "NACRE_LLM_DAILY_TOKENS": "0",  # no bound
        }
        being = nacre(environment, "being", "create", "me")["being_id"]
        token = nacre(environment, "token", "create", "--scope", "full")["token"]
        return cls(folder, environment, being, token)

    def exported(self) -> str:
        """Return the Being's whole memory, as its owner takes it along."""
        path = self.folder / "exported.jsonl"
        path.unlink(missing_ok=True)
        arguments = [sys.executable, *PLAIN, "export", str(path)]
        subprocess.run(arguments, env=self.environment, check=True, capture_output=True)
        return path.read_text()

    @contextmanager
    def serving(self, program: Sequence[str] = PLAIN) -> Iterator["Serving"]:
        """Run the server until the block ends, and let it end in peace."""
        log = self.folder / "log"
        began = log.stat().st_size if log.exists() else 0
        with log.open("ab") as out:
            process = subprocess.Popen(
                [sys.executable, *program, "serve", "--port", "0", "--log"],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=out,
                cwd=ROOT,
            )
        try:
            yield Serving(process, _url(process, log, began), self)
            process.send_signal(signal.SIGTERM)
            assert process.wait(_END_SECONDS) == 0
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()


@dataclass(frozen=True, slots=True)
class Serving:
    """A server that runs."""

    process: "subprocess.Popen[bytes]"
    url: str
    home: Home

    @property
    def target(self) -> Target:
        """Return where calls go."""
        return Target(
            mcp_url=f"{self.url}/{self.home.being}",
            policy_url=f"{self.url.removesuffix('/mcp')}/policy/evaluate",
            token=self.home.token,
        )

    async def counts(self) -> dict[str, dict[str, int]]:
        """Return what a counted server has asked its store for: by calls, and by jobs."""
        path = self.home.folder / "counts.json"
        path.unlink(missing_ok=True)
        self.process.send_signal(signal.SIGUSR1)
        while not path.exists():
            await asyncio.sleep(0.02)
        found: dict[str, dict[str, int]] = json.loads(path.read_text())
        return found


def nacre(environment: dict[str, str], *arguments: str) -> Any:
    """Return what a command prints as JSON."""
    done = subprocess.run(
        [sys.executable, *PLAIN, *arguments, "--json"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _url(process: "subprocess.Popen[bytes]", log: Path, began: int) -> str:
    deadline = time.monotonic() + _READY_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        for line in log.read_text()[began:].splitlines():
            if '"event": "serving"' in line and line.endswith("}"):
                return str(json.loads(line)["url"])
        time.sleep(0.05)
    raise AssertionError(f"the server did not start:\n{log.read_text()[-2000:]}")
