"""Build everything that a release publishes into dist/.

    python -m infra.release.build [--repository OWNER/NAME] [--out FOLDER]

The wheels and source archives of all distributions, `server.json` for the MCP registry, the
MCPB bundle, the Homebrew formula and the build context of the container image.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

from infra.layers.build import ROOT, find_uv
from infra.release import bundle, formula
from infra.release.server_json import server_json
from infra.release.tree import PLACEHOLDER, Release, copy_tree

# What the Dockerfile copies, and the file itself.
CONTEXT = ("Dockerfile", "compose.yaml", "LICENSE", "README.md", "pyproject.toml", "uv.lock")


def main() -> None:
    """Build into the folder that the command line names."""
    parser = argparse.ArgumentParser(description="Build everything that a release publishes.")
    parser.add_argument(
        "--repository",
        metavar="OWNER/NAME",
        default=PLACEHOLDER,
        help="the repository on GitHub that publishes",
    )
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    arguments = parser.parse_args()
    release = Release(arguments.repository)
    for file in build(release, arguments.out.absolute()):
        print(f"{file.stat().st_size / 1e6:8.2f} MB  {file.name}")
    if release.repository == PLACEHOLDER:
        print(f"\nNot to be published: {PLACEHOLDER} stands for your repository;", file=sys.stderr)
        print("give it: make dist ARGS='--repository OWNER/NAME'", file=sys.stderr)


def build(release: Release, out: Path) -> list[Path]:
    """Build all files into an emptied folder, and return them."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        tree = scratch / "tree"
        copy_tree(tree, release)
        command = [find_uv(), "build", "--quiet", "--all-packages", "--out-dir", str(out)]
        subprocess.run([*command, str(tree)], check=True)
        (out / ".gitignore").unlink(missing_ok=True)
        wheels = sorted(out.glob("*.whl"))
        packed = bundle.build(release, wheels, scratch, out)
        document = json.dumps(server_json(release, packed), indent=2)
        (out / "server.json").write_text(f"{document}\n")
        (source,) = out.glob("nacre_mcp-*.tar.gz")
        data = [archive for name in _data_names() for archive in out.glob(f"{name}-*.tar.gz")]
        (out / "nacre-mcp.rb").write_text(formula.formula(release, source, data))
        _pack_context(tree, out / f"nacre-{release.version}-container.tar.gz")
    return sorted(out.iterdir())


def _data_names() -> list[str]:
    """Return the names of the data that Nacre cannot run without, as files have them."""
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    names = [re.split(r"[<>=]", line)[0].replace("-", "_") for line in needed]
    return sorted(name for name in names if name.startswith("nacre_mcp_"))


def _pack_context(tree: Path, file: Path) -> None:
    with tarfile.open(file, "w:gz") as archive:
        for name in (*CONTEXT, "shared"):
            archive.add(tree / name, name)


if __name__ == "__main__":
    main()
