"""AWS on this machine: MiniStack, on loopback only."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import randbelow

from infra.tools import programs

REGION = "us-east-1"
_READY_SECONDS = 60
_STOP_SECONDS = 10


@contextmanager
def local_cloud(port: int | None = None) -> Iterator[str]:
    """Run MiniStack until the block ends, and give its URL."""
    port = port or free_port()
    url = f"http://127.0.0.1:{port}"
    folder = programs("ministack")
    home = tempfile.mkdtemp(prefix="nacre-cloud-")
    environment = {
        "PATH": f"{folder}{os.pathsep}{os.defpath}",
        "HOME": home,
        "TMPDIR": home,  # it leaves hundreds of megabytes there for each version of a function
        "GATEWAY_PORT": str(port),
        "BIND_HOST": "127.0.0.1",
        "IOT_MTLS_ENABLED": "0",  # these two would listen on ports of their own
        "SFTP_ENABLED": "0",
    }
    with Path(home, "log").open("w") as log:
        process = subprocess.Popen(
            [str(folder / "ministack")],
            cwd=home,
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,  # a group of its own: its workers end with it
        )
        try:
            wait_until_ready(url, process, Path(home, "log"))
            yield url
        finally:
            stop(process)
            shutil.rmtree(home, ignore_errors=True)


def free_port() -> int:
    """Return a port of loopback that nobody listens on.

    It lies below those that systems give out by themselves, so that nobody gets it meanwhile.
    """
    while True:
        port = 20_000 + randbelow(12_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def wait_until_ready(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    """Return when the services answer; raise RuntimeError when they will not."""
    deadline = time.monotonic() + _READY_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/_ministack/health", timeout=2):  # noqa: S310  ours
                return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"MiniStack did not start:\n{log.read_text()[-2000:]}")


def stop(process: "subprocess.Popen[bytes]") -> None:
    """End the process and the workers it started."""
    with suppress(ProcessLookupError, subprocess.TimeoutExpired):
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(_STOP_SECONDS)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def credentials(url: str) -> dict[str, str]:
    """Return the variables by which the SDKs and SAM find this cloud, without the user's."""
    return {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }
