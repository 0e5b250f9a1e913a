"""The layers as they are deployed: built, zipped and unzipped again."""

import platform
import shutil
import tempfile
import zipfile
from atexit import register
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from infra.layers.build import build

HOST = {"x86_64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}[platform.machine()]


@dataclass(frozen=True, slots=True)
class Layer:
    """One built layer."""

    archive: Path
    folder: Path

    @property
    def python(self) -> Path:
        """What Lambda puts on the import path."""
        return self.folder / "python"

    @property
    def unzipped_bytes(self) -> int:
        """What counts towards Lambda's 250 MB."""
        with zipfile.ZipFile(self.archive) as archive:
            return sum(entry.file_size for entry in archive.infolist())


@cache
def layer(name: str, arch: str = HOST) -> Layer:
    """Return a layer, built once in a test run."""
    scratch = Path(tempfile.mkdtemp())
    register(shutil.rmtree, scratch, ignore_errors=True)
    build(name, arch, scratch / "built")
    archive = scratch / f"{name}.zip"
    files = sorted(path for path in (scratch / "built").rglob("*") if path.is_file())
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in files:
            packed.write(path, path.relative_to(scratch / "built"))
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(scratch / "opt")
    shutil.rmtree(scratch / "built")
    return Layer(archive, scratch / "opt")
