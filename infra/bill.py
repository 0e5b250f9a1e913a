"""The bill of materials: every package that Nacre runs on, with its licence, as CycloneDX.

`python -m infra.bill` writes it beside what `make build` makes. It follows from uv.lock and the
packages that are installed, so that the same lock gives the same bytes.
"""

import importlib.metadata
import json
import re
import subprocess
import sys
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from infra.layers.build import ROOT, find_uv
from nacre import __version__

FILE = ROOT / ".aws-sam" / "nacre.cdx.json"
EXTRAS = ("aws", "onnx", "openai", "qdrant")
"""What may be installed with Nacre; tools for development are no part of it."""

# What asks for nothing but its text to travel along, or for changes to its own files (MPL-2.0).
ALLOWED = frozenset(
    {
        *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0"),
        *("MPL-2.0", "PSF-2.0", "Zlib"),
    }
)
_SPELT = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
# Read in the package's own files, where its metadata does not say which of several it is.
_READ = {
    "hyperframe": "MIT",
    "jinja2": "BSD-3-Clause",
    "python-dateutil": "Apache-2.0 OR BSD-3-Clause",
    # Not installed on every system, so that no metadata can be read.
    "httpx2-jsfetch": "BSD-3-Clause",
    "pywin32": "PSF-2.0",
}
# What lies in the packages themselves; the NOTICE of each says where its numbers come from.
_INSIDE = (
    ("htmx.org", "2.0.11", "0BSD", "pkg:npm/htmx.org@2.0.11"),
    ("potion-base-8M", "1", "MIT", "pkg:huggingface/minishlab/potion-base-8M"),
    ("potion-multilingual-128M", "1", "MIT", "pkg:huggingface/minishlab/potion-multilingual-128M"),
    (
        "universal-sentence-encoder-multilingual",
        "3",
        "Apache-2.0",
        "pkg:generic/google/universal-sentence-encoder-multilingual@3",
    ),
)
Bill = dict[str, Any]


def bill() -> Bill:
    """Return the bill of materials, with a licence for every component."""
    extras = [part for extra in EXTRAS for part in ("--extra", extra)]
    command = [find_uv(), "export", "--frozen", "--quiet", "--format", "cyclonedx1.5", "--no-dev"]
    exported = subprocess.run(
        [*command, "--preview-features", "sbom-export", *extras],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    document: Bill = json.loads(exported.stdout)
    for component in document["components"]:
        component["licenses"] = [{"expression": licence(component["name"])}]
    document["components"] += [_inside(*part) for part in _INSIDE]
    root = document["metadata"]["component"]
    root |= {
        "type": "application",
        "version": __version__,
        "licenses": [{"expression": "MIT"}],
    }
    document["metadata"].pop("timestamp", None)
    lock = (ROOT / "uv.lock").read_text()
    document["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, __version__ + lock)}"
    return document


def licence(name: str) -> str:
    """Return a package's licence as an SPDX expression, or what it says instead of one."""
    if name in _READ:
        return _READ[name]
    metadata = importlib.metadata.metadata(name)
    for expression in metadata.get_all("License-Expression") or ():
        return str(expression)
    classifiers = [
        classifier.rpartition(" :: ")[2]
        for classifier in metadata.get_all("Classifier") or ()
        if classifier.startswith("License ::")
    ]
    declared = str([*(metadata.get_all("License") or ()), *classifiers, "unknown"][0]).strip()
    return _SPELT.get(declared, declared)


def refused(document: Mapping[str, Any]) -> list[str]:
    """Return the components whose licence is not one of those that are allowed."""
    return [
        f"{component['name']}: {expression}"
        for component in document["components"]
        for expression in (component["licenses"][0]["expression"],)
        if not _allows(expression)
    ]


def _allows(expression: str) -> bool:
    """Tell whether one way of an OR is allowed; of an AND, all parts have to be."""
    ways = [re.split(r"\s+AND\s+", way) for way in re.split(r"\s+OR\s+", expression)]
    return any(all(part.strip("() ") in ALLOWED for part in way) for way in ways)


def _inside(name: str, version: str, expression: str, purl: str) -> dict[str, object]:
    return {
        "type": "library",
        "bom-ref": f"inside-{name}",
        "name": name,
        "version": version,
        "purl": purl,
        "licenses": [{"expression": expression}],
    }


def write(file: Path) -> Bill:
    """Write the bill of materials to a file, and return it."""
    document = bill()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")
    return document


def main() -> None:
    """Write the bill of materials; end with an error where a licence is not allowed."""
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else FILE
    document = write(file)
    print(f"{len(document['components'])} components: {file}")
    if problems := refused(document):
        sys.exit("licences that nobody has allowed:\n" + "\n".join(problems))


if __name__ == "__main__":
    main()
