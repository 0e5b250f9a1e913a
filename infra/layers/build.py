"""Build one Lambda layer: exact wheels from uv.lock, trimmed, compiled, and our package.

    python3 infra/layers/build.py hot --arch arm64 --out FOLDER

Wheels only, so a layer for arm64 is built on any machine. What third parties ship is
kept in .tools/layers under a digest of everything that decides it; our own code is
copied anew every time, so an edit is never missed.
"""

import argparse
import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PYTHON = "3.13"
PLATFORMS = {"arm64": "aarch64-manylinux_2_28", "x86_64": "x86_64-manylinux_2_28"}
LAYERS = ("hot", "libs", "web", "batch")
BESIDE = {"web": "libs"}  # whose functions have both: what libs has is left out of web
PACKAGES = {"hot": ("nacre",), "libs": ("nacre_tables", "nacre_encoder")}  # our own, from shared/

# No function builds the data wheels.
NOT_SHIPPED = ("__pycache__", "*.pyc", "pyproject.toml", "README.md")

# Parts of the package that run on a laptop only; a contract keeps handlers from importing them.
LAPTOP_ONLY = (
    "nacre.adapters.files.backup_file",
    "nacre.adapters.files.config_files",
    "nacre.adapters.files.wrap_records",
    "nacre.adapters.sqlite",
    "nacre.being.memory.evaluation",
    "nacre.being.memory.mirror",
    "nacre.being.memory.transfer.transcripts",
    "nacre.cli",
    "nacre.faces.http",
    "nacre.faces.stdio",
    "nacre.firewall.confine",
    "nacre.firewall.proxy.generations",
    "nacre.firewall.proxy.http",
    "nacre.firewall.proxy.stdio.pipes",
    "nacre.firewall.proxy.stdio.relay",
    "nacre.firewall.proxy.stdio.server_process",
    "nacre.firewall.proxy.stdio.stdio_proxy",
    "nacre.firewall.proxy.upstream",
    "nacre.firewall.wrap",
    "nacre.wiring.features.confine",
    "nacre.wiring.features.evaluation",
    "nacre.wiring.features.past_recall",
    "nacre.wiring.features.wrap",
    "nacre.wiring.laptop",
    "nacre.wiring.laptop_backups",
    "nacre.wiring.proxy",
    "nacre.wiring.stack_backups",
)

# The AWS services that Nacre calls from a function. Botocore describes 400 of them.
SERVICES = {"dynamodb", "kms", "s3", "sqs", "ssm"}
DISTRIBUTION_FILES = {"METADATA", "entry_points.txt"}  # what importlib.metadata answers from
JUNK_FOLDERS = {"__pycache__", "tests", "bin", "examples", "include", "emscripten"}
JUNK_SUFFIXES = {".pyi", ".pyx", ".pxd", ".c", ".h", ".cpp", ".a", ".lib", ".typed"}
JUNK_FILES = {".lock", "examples-1.json", "dateutil-zoneinfo.tar.gz"}


def main() -> None:
    """Build the layer that the command line names."""
    parser = argparse.ArgumentParser(description="Build one Lambda layer.")
    parser.add_argument("layer", choices=LAYERS)
    parser.add_argument("--arch", choices=sorted(PLATFORMS), default=deployed_arch())
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--python", default="", help=f"a Python {PYTHON}, or 'none'")
    arguments = parser.parse_args()
    build(arguments.layer, arguments.arch, arguments.out, arguments.python)


def deployed_arch(config: Path = ROOT / "samconfig.toml") -> str:
    """Return the processor that the next deployment is for, as far as SAM's settings say.

    `sam deploy --guided` writes it there, and does not tell makefiles.
    """
    commands = tomllib.loads(config.read_text()).get("default", {})
    given = str(commands.get("deploy", {}).get("parameters", {}).get("parameter_overrides", ""))
    found = re.search(r"\bArch\W+(arm64|x86_64)\b", given)
    return found[1] if found else "arm64"


def build(layer: str, arch: str, out: Path, python: str = "") -> None:
    """Fill `out`/python with everything that the layer holds."""
    uv = find_uv()
    compiler = find_python(uv, python)
    if compiler is None:
        say(f"{layer}: no Python {PYTHON} here, so the layer ships no bytecode")
        say("hint: uv python install 3.13 makes cold starts about twice as fast")
    target = out / "python"
    shutil.rmtree(target, ignore_errors=True)
    kept = third_party(uv, layer, arch, compiler)
    shutil.copytree(kept, target, symlinks=True, copy_function=link)
    for package in PACKAGES.get(layer, ()):
        ours = target / package
        shutil.copytree(
            ROOT / "shared" / package, ours, ignore=shutil.ignore_patterns(*NOT_SHIPPED)
        )
        for part in LAPTOP_ONLY:
            place = target.joinpath(*part.split("."))
            shutil.rmtree(place, ignore_errors=True)
            place.with_suffix(".py").unlink(missing_ok=True)
        compile_folder(compiler, ours, f"/opt/python/{package}")


def third_party(uv: str, layer: str, arch: str, compiler: str | None) -> Path:
    """Return the folder of the layer's dependencies, made once for each set of versions."""
    pins = pinned(uv, layer)
    if layer in BESIDE:
        there = re.findall(r"^([\w.-]+)==", pinned(uv, BESIDE[layer]), re.MULTILINE)
        pins = pinned(uv, layer, *(f"--no-emit-package={name}" for name in there))
    digest = hashlib.sha256()
    for part in (pins, arch, bytecode_version(compiler), Path(__file__).read_text()):
        digest.update(part.encode() + b"\0")
    kept = ROOT / ".tools" / "layers" / f"{layer}-{arch}-{digest.hexdigest()[:16]}"
    if kept.is_dir():
        return kept
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent) as scratch:
        requirements = Path(scratch, "requirements.txt")
        requirements.write_text(pins)
        folder = Path(scratch, "python")
        install = f"""pip install --quiet --no-deps --require-hashes --only-binary :all:
            --link-mode copy --python-version {PYTHON} --python-platform {PLATFORMS[arch]}"""
        run(uv, *install.split(), "--target", str(folder), "--requirements", str(requirements))
        trim(folder)
        compile_folder(compiler, folder, "/opt/python")
        try:
            folder.rename(kept)
        except OSError:
            if not kept.is_dir():  # else another build was first, with the same content
                raise
    return kept


def pinned(uv: str, layer: str, *options: str) -> str:
    """Return the versions that a layer holds, as uv.lock says."""
    export = f"export --quiet --frozen --no-header --no-emit-project --only-group layer-{layer}"
    return run(uv, *export.split(), *options, "--project", str(ROOT))


def trim(folder: Path) -> None:
    """Remove what no function reads."""
    shutil.rmtree(folder / "boto3" / "data", ignore_errors=True)  # resources; we use clients
    trim_descriptions(folder / "botocore" / "data")
    for parent, folders, files in os.walk(folder, topdown=True):
        for name in folders:
            if name in JUNK_FOLDERS:
                shutil.rmtree(Path(parent, name))
        folders[:] = [name for name in folders if name not in JUNK_FOLDERS]
        is_metadata = parent.endswith(".dist-info")
        for name in files:
            junk = name not in DISTRIBUTION_FILES if is_metadata else is_junk(name)
            if junk:
                Path(parent, name).unlink()
        if is_metadata:
            for name in folders:
                shutil.rmtree(Path(parent, name))
            folders.clear()


def trim_descriptions(data: Path) -> None:
    """Leave botocore what it needs to know of the services that we call."""
    for path in unused_descriptions(data):
        shutil.rmtree(path)
    if (endpoints := data / "endpoints.json").is_file():
        shorten_endpoints(endpoints)
    for description in data.rglob("service-2.json.gz"):
        drop_prose(description)


def is_junk(name: str) -> bool:
    """Whether a file serves compilers, type checkers or installers alone."""
    return Path(name).suffix in JUNK_SUFFIXES or name in JUNK_FILES


def unused_descriptions(data: Path) -> Iterator[Path]:
    """Yield botocore's folders of services and of outdated versions that nobody calls."""
    for service in sorted(path for path in data.glob("*") if path.is_dir()):
        if service.name in SERVICES:
            yield from sorted(service.iterdir())[:-1]
        else:
            yield service


def shorten_endpoints(path: Path) -> None:
    """Leave the addresses of other services out, which each new client would parse for 10 ms."""
    endpoints = json.loads(path.read_bytes())
    for partition in endpoints["partitions"]:
        services = partition["services"]
        partition["services"] = {name: services[name] for name in SERVICES & services.keys()}
    path.write_text(json.dumps(endpoints, separators=(",", ":"), sort_keys=True))


def drop_prose(path: Path) -> None:
    """Leave out what a service's description says to readers, which each new client would parse."""
    whole = json.loads(gzip.decompress(path.read_bytes()))
    short = without_prose(whole)
    if "clientContextParams" in whole:  # botocore reads the prose of these few
        short["clientContextParams"] = whole["clientContextParams"]
    path.write_bytes(gzip.compress(json.dumps(short).encode(), mtime=0))


def without_prose(part: Any) -> Any:
    """Return the part without its texts; a member may be called `documentation` as well."""
    if isinstance(part, dict):
        return {
            name: without_prose(value)
            for name, value in part.items()
            if not (name == "documentation" and isinstance(value, str))
        }
    return [without_prose(each) for each in part] if isinstance(part, list) else part


def link(source: str, target: str) -> str:
    """Give the file a second name where the disk can, else copy it; nobody writes to either."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
    return target


def compile_folder(compiler: str | None, folder: Path, installed: str) -> None:
    """Write bytecode that no file time can make stale, with the paths of the function."""
    if compiler is not None:
        options = ["-q", "-j", "0", "--invalidation-mode", "unchecked-hash"]
        where = ("-s", str(folder), "-p", installed, str(folder))
        run(compiler, "-I", "-m", "compileall", *options, *where)


def find_uv() -> str:
    """Return uv: from PATH, or the one that `make` keeps, installed when there is none."""
    kept = ROOT / ".tools" / "uv" / "bin" / "uv"
    for candidate in (shutil.which("uv"), str(kept)):
        if candidate and works(candidate, "--version"):
            return candidate
    say("installing uv into .tools/uv")
    run(sys.executable, "-m", "venv", str(kept.parents[1]))
    run(str(kept.with_name("pip")), "install", "--quiet", "uv")
    return str(kept)


def find_python(uv: str, wanted: str = "") -> str | None:
    """Return a Python of the functions' version, or None; `wanted` names one or says none."""
    if wanted == "none":
        return None
    if wanted:
        if not is_target(wanted):
            sys.exit(f"layers: {wanted} is not a Python {PYTHON}")
        return wanted
    search = [uv, "python", "find", "--no-project", "--no-python-downloads", PYTHON]
    found = subprocess.run(search, capture_output=True, text=True, check=False).stdout.strip()
    # A version manager's shim may be on PATH for a version that is not switched on.
    versions = Path.home() / ".pyenv" / "versions"
    fetched = (ROOT / ".tools" / "python").glob(f"*/bin/python{PYTHON}")
    managed = [*versions.glob(f"{PYTHON}.*/bin/python{PYTHON}"), *fetched]
    candidates = [found, shutil.which(f"python{PYTHON}"), *map(str, sorted(managed))]
    return next((path for path in candidates if path and is_target(path)), None)


def is_target(python: str) -> bool:
    """Whether this is a CPython of the version that the functions run on."""
    program = "import sys; print(sys.implementation.name, *sys.version_info[:2], sep='.')"
    try:
        done = subprocess.run(
            [python, "-I", "-c", program], capture_output=True, text=True, check=False
        )
    except OSError:
        return False
    return done.stdout.strip() == f"cpython.{PYTHON}"


def bytecode_version(compiler: str | None) -> str:
    """Return what decides whether two interpreters read each other's bytecode."""
    if compiler is None:
        return "none"
    return run(compiler, "-I", "-c", "import sys; print(sys.implementation.cache_tag)")


def works(*command: str) -> bool:
    """Whether the command exists and succeeds."""
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def run(*command: str) -> str:
    """Return what the command prints; its errors go to the terminal."""
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def say(text: str) -> None:
    """Tell whoever builds."""
    print(f"layers: {text}", file=sys.stderr)


if __name__ == "__main__":
    main()
