"""Print the path of the oldest Python here that the project promises to run on: exit 1 if none.

python -m infra.oldest_python

Debian 12 ships 3.11.2, which has faults that later patch releases mended, so "a Python 3.11" is
not enough.
"""

import shutil
import subprocess
import sys
from pathlib import Path

from infra.layers.build import ROOT

MINOR = (3, 11)  # requires-python in pyproject.toml
FOLDERS = (Path("/usr/bin"), Path("/usr/local/bin"), Path("~/.pyenv/versions").expanduser())
_ASK = "import sys; print(*sys.version_info[:3])"


def candidates() -> list[str]:
    """Return the programs that may be a Python of that version."""
    named = shutil.which("python3.11")
    patterns = ("python3.11", "3.11.*/bin/python3.11")
    paths = (path for folder in FOLDERS for pattern in patterns for path in folder.glob(pattern))
    return [*([named] if named else ()), *map(str, paths)]


def version_of(path: str) -> tuple[int, ...] | None:
    """Return the version of an interpreter that can make environments, else None."""
    ask = f"import ensurepip, venv; {_ASK}"
    run = subprocess.run([path, "-c", ask], cwd=ROOT, capture_output=True, text=True, check=False)
    return tuple(map(int, run.stdout.split())) if run.returncode == 0 else None


def oldest_python() -> str | None:
    """Return the oldest patch release that is here."""
    versions = {path: version for path in candidates() if (version := version_of(path))}
    fitting = [path for path, version in versions.items() if version[:2] == MINOR]
    return min(fitting, key=lambda path: versions[path], default=None)


if __name__ == "__main__":
    path = oldest_python()
    if path is None:
        sys.exit(1)
    print(path)
