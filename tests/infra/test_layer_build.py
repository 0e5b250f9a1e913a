import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import botocore
import pytest
from botocore.model import ServiceModel
from botocore.regions import EndpointResolver

from infra.layers import build
from tests.infra.declared import functions, resources, template


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in (
        "boto3/data/s3/resources-1.json",
        "botocore/data/dynamodb/2011-12-05/service-2.json.gz",
        "botocore/data/dynamodb/2012-08-10/service-2.json.gz",
        "botocore/data/dynamodb/2012-08-10/examples-1.json",
        "botocore/data/ec2/2016-11-15/service-2.json.gz",
        "botocore/data/endpoints.json",
        "thing/__init__.py",
        "thing/py.typed",
        "thing/fast.pyi",
        "thing/fast.so",
        "thing/tests/test_thing.py",
        "thing/contrib/emscripten/fetch.py",
        "thing/testing/public.py",
        "thing-1.0.dist-info/METADATA",
        "thing-1.0.dist-info/RECORD",
        "thing-1.0.dist-info/entry_points.txt",
        "thing-1.0.dist-info/licenses/LICENSE",
        "bin/thing",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".gz"):
            path.write_bytes(gzip.compress(b"{}"))
        else:
            path.write_text('{"partitions": []}' if name.endswith("endpoints.json") else "")
    return tmp_path


def test_trimming_leaves_what_functions_read(folder: Path) -> None:
    build.trim(folder)

    assert sorted(
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()
    ) == [
        "botocore/data/dynamodb/2012-08-10/service-2.json.gz",
        "botocore/data/endpoints.json",
        "thing-1.0.dist-info/METADATA",
        "thing-1.0.dist-info/entry_points.txt",
        "thing/__init__.py",
        "thing/fast.so",
        "thing/testing/public.py",
    ]


def test_our_services_keep_their_addresses_everywhere(tmp_path: Path) -> None:
    path = tmp_path / "endpoints.json"
    whole = Path(botocore.__file__).parent / "data" / "endpoints.json"
    path.write_bytes(whole.read_bytes())

    build.shorten_endpoints(path)

    data = json.loads(whole.read_bytes())
    regions = {name for partition in data["partitions"] for name in partition["regions"]}
    before, after = EndpointResolver(data), EndpointResolver(json.loads(path.read_bytes()))
    for service, region in product(build.SERVICES, sorted(regions)):
        assert after.construct_endpoint(service, region) == before.construct_endpoint(
            service, region
        )
    assert path.stat().st_size < whole.stat().st_size / 20


@pytest.mark.parametrize("service", sorted(build.SERVICES))
def test_a_service_is_described_without_prose_and_otherwise_whole(
    service: str, tmp_path: Path
) -> None:
    whole = max((Path(botocore.__file__).parent / "data" / service).glob("*/service-2.json.gz"))
    short = tmp_path / whole.name
    short.write_bytes(whole.read_bytes())

    build.drop_prose(short)

    before, after = (json.loads(gzip.decompress(path.read_bytes())) for path in (whole, short))
    lost = list(differences(before, after))
    assert lost
    assert {(name, type(text)) for name, text in lost} == {("documentation", str)}
    assert short.stat().st_size < whole.stat().st_size / 4
    assert str(read_by_botocore(after)) == str(read_by_botocore(before))


def read_by_botocore(description: dict[str, Any]) -> list[Any]:
    """Return what a client reads of its service's description."""
    model = ServiceModel(description)
    operations = [model.operation_model(name) for name in model.operation_names]
    return [
        model.client_context_parameters,
        [
            (each.http, each.input_shape, each.output_shape, each.error_shapes)
            for each in operations
        ],
        [(each.static_context_parameters, each.context_parameters) for each in operations],
    ]


def differences(before: Any, after: Any) -> Iterator[tuple[str, object]]:
    """Yield each entry that one description has and the other has not, or has otherwise."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in before.keys() | after.keys():
            if name in before and name in after:
                yield from differences(before[name], after[name])
            else:
                yield name, before.get(name, after.get(name))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for one, other in zip(before, after, strict=True):
            yield from differences(one, other)
    elif before != after:
        yield "", before


def test_the_layers_are_compiled_for_the_python_that_the_functions_run_on() -> None:
    assert {function["Runtime"] for function in functions().values()} == {f"python{build.PYTHON}"}
    for layer in resources("AWS::Serverless::LayerVersion").values():
        assert layer["CompatibleRuntimes"] == [f"python{build.PYTHON}"]


def test_every_layer_of_the_template_has_a_makefile_that_builds_it() -> None:
    layers = resources("AWS::Serverless::LayerVersion")

    assert {layer["ContentUri"] for layer in layers.values()} == {
        f"infra/layers/{name}/" for name in build.LAYERS
    }
    for name, layer in layers.items():
        makefile = (build.ROOT / layer["ContentUri"] / "Makefile").read_text()
        assert f"build-{name}:\n" in makefile
        assert f"build.py {Path(layer['ContentUri']).name} $(if $(NACRE_ARCH)" in makefile
    for name in functions():
        makefile = (build.ROOT / functions()[name]["CodeUri"] / "Makefile").read_text()
        assert makefile.startswith(f"build-{name}:\n")


def test_every_processor_of_the_template_has_a_platform() -> None:
    assert set(template()["Parameters"]["Arch"]["AllowedValues"]) == build.PLATFORMS.keys()


@pytest.mark.parametrize(
    ("overrides", "arch"),
    [
        ("", "arm64"),
        ('parameter_overrides = "Stage=\\"dev\\" Arch=\\"x86_64\\""', "x86_64"),
        ('parameter_overrides = ["Arch=x86_64", "Stage=dev"]', "x86_64"),
        ('parameter_overrides = "Arch=arm64"', "arm64"),
    ],
)
def test_layers_are_built_for_the_processor_that_was_deployed_last(
    tmp_path: Path, overrides: str, arch: str
) -> None:
    config = tmp_path / "samconfig.toml"
    config.write_text(f"version = 0.1\n[default.deploy.parameters]\n{overrides}\n")

    assert build.deployed_arch(config) == arch


def test_a_python_of_another_version_compiles_nothing(tmp_path: Path) -> None:
    other = tmp_path / "python"
    other.write_text("#!/bin/sh\necho cpython.2.7\n")
    other.chmod(0o755)

    assert not build.is_target(str(other))
    assert not build.is_target(str(tmp_path / "missing"))
    with pytest.raises(SystemExit, match="is not a Python"):
        build.find_python("uv", str(other))
    assert build.find_python("uv", "none") is None


def test_compiled_code_is_never_compared_with_its_source(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text("VALUE = 1\n")
    build.compile_folder(sys.executable, tmp_path, "/opt/python")
    (tmp_path / "module.py").write_text("VALUE = 2\n")

    done = subprocess.run(
        [sys.executable, "-c", "import module; print(module.VALUE)"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "1\n"
