"""The bill of materials: whole, the same each time, with licences that are allowed."""

import json
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from jsonschema_rs import Registry

from infra.bill import bill, refused, write
from infra.layers.build import ROOT
from infra.tools import programs
from tests.end_to_end.attacks.rows import attack

Bill = dict[str, Any]

INSIDE = {
    *("htmx.org", "potion-base-8M", "potion-multilingual-128M"),
    "universal-sentence-encoder-multilingual",
}
IDS = "http://cyclonedx.org/schema"


@cache
def made() -> Bill:
    return bill()


def test_it_names_what_is_installed_with_the_package_in_the_versions_of_the_lock() -> None:
    lock = tomllib.loads((ROOT / "uv.lock").read_text())
    locked = {(each["name"], each["version"]) for each in lock["package"] if "version" in each}
    named = {(each["name"], each["version"]) for each in made()["components"]}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = {re.split(r"[\[<>=~ ]", each)[0] for each in project["dependencies"]}

    assert wanted <= {name for name, _ in named}
    assert {name for name, _ in named - locked} == INSIDE
    assert "pytest" not in {name for name, _ in named}


def test_what_lies_in_the_package_has_the_version_of_its_file() -> None:
    script = ROOT / "shared" / "nacre" / "web" / "pages" / "static" / "htmx.min.js"
    [version] = re.findall(r'version:"([\d.]+)"', script.read_text())
    [named] = [each for each in made()["components"] if each["name"] == "htmx.org"]

    assert named["version"] == version


@attack("N5")
def test_every_licence_is_allowed() -> None:
    assert refused(made()) == []


@pytest.mark.parametrize(
    ("expression", "is_allowed"),
    [
        ("MIT", True),
        ("GPL-3.0-only OR MIT", True),
        ("BSD-3-Clause AND (Zlib)", True),
        ("BSD-3-Clause AND GPL-3.0-only", False),
        ("AGPL-3.0-only", False),
        ("unknown", False),
    ],
)
def test_a_licence_is_allowed_by_one_way_with_all_its_parts(
    expression: str, is_allowed: bool
) -> None:
    component = {"name": "x", "licenses": [{"expression": expression}]}

    assert (refused({"components": [component]}) == []) is is_allowed


def test_the_same_lock_gives_the_same_bytes(tmp_path: Path) -> None:
    write(tmp_path / "a" / "one.json")
    write(tmp_path / "two.json")

    assert (tmp_path / "a" / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()


@pytest.mark.slow
@attack("N5")
def test_it_is_cyclonedx_and_a_wrong_one_is_not() -> None:
    libraries = programs("review").parent / "lib"
    [folder] = libraries.glob("python*/site-packages/cyclonedx/schema/_res")
    files = [folder / f"{name}.SNAPSHOT.schema.json" for name in ("bom-1.5", "spdx", "jsf-0.82")]
    schemas = {f"{IDS}/{file.name}": json.loads(file.read_text()) for file in files}
    registry = Registry([*schemas.items()])
    validator = jsonschema_rs.Draft7Validator(next(iter(schemas.values())), registry=registry)
    spoilt = {**made(), "components": [{"type": "librry", "name": "x"}]}

    validator.validate(made())
    with pytest.raises(jsonschema_rs.ValidationError, match="librry"):
        validator.validate(spoilt)
