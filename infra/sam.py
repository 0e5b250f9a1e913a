"""Build and deploy with SAM, for one processor.

python -m infra.sam build --arch x86_64; what else is written there goes to SAM as it stands.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from infra.layers.build import PLATFORMS, ROOT, deployed_arch
from infra.tools import programs


def run_sam(
    arguments: Sequence[str],
    *,
    arch: str = "arm64",
    environment: Mapping[str, str] = os.environ,  # noqa: TID251  handed on to SAM
    root: Path = ROOT,
) -> int:
    """Run SAM in a clone and return its exit code; the layers' makefiles learn the processor."""
    more = {
        # This interpreter first: the makefiles call python3.
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{environment.get('PATH', os.defpath)}",
        "NACRE_ARCH": arch,
        "SAM_CLI_TELEMETRY": "0",
    }
    command = [str(programs("sam") / "sam"), *arguments]
    return subprocess.run(command, cwd=root, env={**environment, **more}, check=False).returncode


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description="Build or deploy with SAM.")
    parser.add_argument("verb", choices=("build", "deploy"))
    parser.add_argument("--arch", choices=sorted(PLATFORMS), default=deployed_arch())
    arguments, options = parser.parse_known_args()
    overrides = ["--parameter-overrides", f"Arch={arguments.arch}"]
    if arguments.verb == "deploy":
        # SAM asks for the rest, and offers these as the answers. A release has a name of its own,
        # or the versions of the functions would not learn of parameters that changed.
        overrides = [*overrides, f"Release={datetime.now(UTC):%Y%m%dT%H%M%SZ}", "--guided"]
    sys.exit(run_sam([arguments.verb, *overrides, *options], arch=arguments.arch))


if __name__ == "__main__":
    main()
