"""Print the path of a Python of the functions' version, fetched where there is none: exit 1 if not.

python -m infra.newer_python
"""

import subprocess
import sys

from infra.layers.build import PYTHON, ROOT, find_python, find_uv

FETCH_SECONDS = 300  # a slow line; a network that does not allow it says so at once


def newer_python() -> str | None:
    """Return a Python that is here, else one that uv could fetch, else None."""
    uv = find_uv()
    if python := find_python(uv):
        return python
    folder = str(ROOT / ".tools" / "python")
    fetch = [uv, "python", "install", PYTHON, "--quiet", "--install-dir", folder]
    try:
        subprocess.run(fetch, stdout=sys.stderr, timeout=FETCH_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return None
    return find_python(uv)


if __name__ == "__main__":
    path = newer_python()
    if path is None:
        sys.exit(1)
    print(path)
