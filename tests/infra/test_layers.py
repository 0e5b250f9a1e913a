"""The layers, built for both processors."""

import tomllib
from pathlib import Path

import pytest

from infra.layers.build import LAPTOP_ONLY, LAYERS, PLATFORMS, SERVICES, build, find_python, find_uv
from tests.infra.declared import ROOT, functions
from tests.infra.declared import layers as layers_of
from tests.scaffolding.lambda_layers import layer

pytestmark = pytest.mark.slow

MB = 1000 * 1000
LAMBDA_UNZIPPED_BYTES = 250 * 1024 * 1024
ELF_MACHINES = {"x86_64": 62, "arm64": 183}
PURE = ("hot", "batch", "web")  # layers without compiled libraries
UNCHECKED_HASH = 0b01  # PEP 552: by hash, never compared with the source
both = pytest.mark.parametrize("arch", sorted(PLATFORMS))
every_layer = pytest.mark.parametrize("name", LAYERS)
needs_the_interpreter = pytest.mark.skipif(
    find_python(find_uv()) is None, reason="no Python 3.13 on this machine to compile with"
)


@both
def test_the_hot_layer_is_small(arch: str) -> None:
    hot = layer("hot", arch)
    zipped, unzipped = hot.archive.stat().st_size / MB, hot.unzipped_bytes / MB

    print(f"hot layer for {arch}: {zipped:.1f} MB zipped, {unzipped:.1f} MB unzipped")
    assert zipped <= 8
    assert unzipped <= 25


def test_a_layer_leaves_out_only_what_no_handler_may_import() -> None:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    contract = next(
        contract
        for contract in tools["importlinter"]["contracts"]
        if contract["name"] == "Handlers: nothing that their layer leaves out"
    )

    assert tuple(contract["forbidden_modules"]) == LAPTOP_ONLY
    hot = layer("hot", "arm64").python
    places = [hot.joinpath(*part.split(".")) for part in LAPTOP_ONLY]
    assert not any(place.exists() or place.with_suffix(".py").exists() for place in places)


@both
def test_no_function_comes_near_the_limit_of_lambda(arch: str) -> None:
    for name, function in functions().items():
        layers = [name.removesuffix("Layer").lower() for name in layers_of(function)]
        total = sum(layer(each, arch).unzipped_bytes for each in layers)

        print(f"{name} for {arch}: {total / MB:.0f} MB unzipped")
        # Of these, the sentence encoder is 39 MB.
        assert total < 0.95 * LAMBDA_UNZIPPED_BYTES


@both
@every_layer
def test_every_library_is_for_its_processor(name: str, arch: str) -> None:
    libraries = [path for path in layer(name, arch).python.rglob("*.so*") if path.is_file()]
    machines = {int.from_bytes(path.read_bytes()[18:20], "little") for path in libraries}

    assert machines <= {ELF_MACHINES[arch]}
    assert libraries or name in PURE


@every_layer
def test_the_versions_are_those_of_the_lock_file(name: str) -> None:
    locked: dict[str, set[str]] = {}
    for package in tomllib.loads((ROOT / "uv.lock").read_text())["package"]:
        locked.setdefault(package["name"], set()).add(package.get("version", ""))
    folders = layer(name).python.glob("*.dist-info")
    held = dict(folder.stem.rsplit("-", 1) for folder in folders)

    assert held
    assert [
        package
        for package, version in held.items()
        if version not in locked[package.lower().replace("_", "-").replace(".", "-")]
    ] == []


def test_the_hot_layer_holds_our_package_and_botocore_for_our_services() -> None:
    python = layer("hot").python
    services = {path.name for path in (python / "botocore" / "data").iterdir() if path.is_dir()}
    ours = {path.relative_to(ROOT / "shared") for path in (ROOT / "shared/nacre").rglob("*.py")}
    left_out = [Path(*part.split(".")) for part in LAPTOP_ONLY]

    assert services == SERVICES
    assert {path.relative_to(python) for path in (python / "nacre").rglob("*.py")} == {
        path
        for path in ours
        if not any(path.with_suffix("").is_relative_to(part) for part in left_out)
    }
    assert (python / "nacre/firewall/policies/packs/default.json").is_file()
    assert (python / "nacre/being/tools/lists.json").is_file()


@every_layer
def test_nothing_is_shipped_that_no_function_reads(name: str) -> None:
    python = layer(name).python
    junk = [
        path
        for path in python.rglob("*")
        if path.name in {"tests", "RECORD", "INSTALLER"} or path.suffix in {".pyi", ".c", ".pyx"}
    ]

    assert junk == []


@needs_the_interpreter
@every_layer
def test_every_module_is_compiled_so_that_no_file_time_matters(name: str) -> None:
    python = layer(name).python
    sources = [path for path in python.rglob("*.py") if path.stat().st_size]
    missing = []
    for source in sources:
        compiled = source.parent / "__pycache__" / f"{source.stem}.cpython-313.pyc"
        if not compiled.is_file():
            missing.append(str(source.relative_to(python)))
            continue
        assert int.from_bytes(compiled.read_bytes()[4:8], "little") == UNCHECKED_HASH, compiled

    assert sources
    # What no Python of today can compile is data: templates and code for other interpreters.
    assert [path for path in missing if path.startswith("nacre/")] == []
    assert len(missing) < len(sources) / 100


@needs_the_interpreter
def test_errors_name_the_files_of_the_function() -> None:
    [compiled] = (layer("hot").python / "nacre" / "being" / "__pycache__").glob("application.*.pyc")

    assert b"/opt/python/nacre/being/application.py" in compiled.read_bytes()


def test_without_the_interpreter_there_is_no_bytecode_and_a_word_about_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    build("hot", "arm64", tmp_path, python="none")

    assert list(tmp_path.rglob("*.pyc")) == []
    assert (tmp_path / "python" / "nacre" / "being" / "application.py").is_file()
    assert "no Python 3.13 here, so the layer ships no bytecode" in capfd.readouterr().err
