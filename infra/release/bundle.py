"""The MCPB bundle: a zip that desktop clients install with a click; uv fetches the rest."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

from infra.layers.build import ROOT
from infra.release.locked_packages import requirements
from infra.release.server_json import DESCRIPTION
from infra.release.tree import Release

MCPB = ROOT / ".tools" / "node" / "node_modules" / ".bin" / "mcpb"
_ENTRY = "server.py"
_PROGRAM = '''"""Nacre over standard input and output, as a desktop client starts it."""

import sys

from nacre.cli.main import main

if __name__ == "__main__":
    sys.argv[1:] = ["mcp-server", *sys.argv[1:]]
    main()
'''


def manifest(release: Release) -> dict[str, Any]:
    """Return the manifest of the bundle."""
    own = json.loads((ROOT / "shared/nacre/being/tools/lists.json").read_text())["tools"]
    return {
        "manifest_version": "0.4",
        "name": "nacre",
        "display_name": "Nacre",
        "version": release.version,
        "description": DESCRIPTION,
        "author": {"name": "Nacre contributors", "url": release.url},
        "repository": {"type": "git", "url": f"{release.url}.git"},
        "license": "MIT",
        "keywords": ["memory", "mcp", "policy"],
        "server": {
            "type": "uv",
            "entry_point": _ENTRY,
            "mcp_config": {
                "command": "uv",
                "args": ["run", "--directory", "${__dirname}", _ENTRY],
                "env": {"NACRE_HOME": "${user_config.folder}"},
            },
        },
        "tools": [{"name": tool["name"], "description": tool["description"]} for tool in own],
        "tools_generated": True,
        "compatibility": {
            "platforms": ["darwin", "linux", "win32"],
            "runtimes": {"python": ">=3.11"},
        },
        "user_config": {
            "folder": {
                "type": "directory",
                "title": "Data folder",
                "description": "Where the memory is kept; empty for the folder of 'nacre serve'",
                "default": "",
                "required": False,
            }
        },
    }


def project(release: Release, wheels: list[Path]) -> str:
    """Return the project of the bundle: our wheels inside, everything else pinned."""
    names = {wheel.name.split("-")[0].replace("_", "-"): wheel.name for wheel in wheels}
    sources = "".join(
        f'{name} = {{ path = "wheels/{file}" }}\n' for name, file in sorted(names.items())
    )
    pins = "".join(f"    {json.dumps(line)},\n" for line in requirements())
    return (
        "[project]\n"
        'name = "nacre-bundle"\n'
        f'version = "{release.version}"\n'
        'requires-python = ">=3.11"\n'
        f"dependencies = {json.dumps(sorted(names))}\n\n"
        "[tool.uv]\npackage = false\n"
        f"constraint-dependencies = [\n{pins}]\n\n"
        f"[tool.uv.sources]\n{sources}"
    )


def build(release: Release, wheels: list[Path], scratch: Path, out: Path) -> Path:
    """Write the bundle's files to a folder, and pack them with the official tool."""
    folder = scratch / "bundle"
    (folder / "wheels").mkdir(parents=True)
    for wheel in wheels:
        shutil.copy2(wheel, folder / "wheels")
    (folder / "manifest.json").write_text(json.dumps(manifest(release), indent=2) + "\n")
    (folder / "pyproject.toml").write_text(project(release, wheels))
    (folder / _ENTRY).write_text(_PROGRAM)
    shutil.copy2(ROOT / "LICENSE", folder)
    bundle = out / f"nacre-{release.version}.mcpb"
    for command in (("validate", folder / "manifest.json"), ("pack", folder, bundle)):
        subprocess.run([MCPB, *map(str, command)], check=True, stdout=subprocess.DEVNULL)
    return bundle
