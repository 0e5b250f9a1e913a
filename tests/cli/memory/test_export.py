"""The command `nacre export`, on the laptop and on a stack."""

import gzip
import json
import stat
from pathlib import Path

import pytest

from nacre.adapters.embeddings.builtin_models import ENCODER
from nacre.being.memory.model.types import SceneDraft
from tests.cli.conftest import Nacre
from tests.cli.worlds import World


@pytest.fixture
def being_id(nacre: Nacre, world: World) -> str:
    being_id = str(nacre("being", "create", "Ann", "--json", *world.options).json()["being_id"])
    drafts = [SceneDraft(action="found a pearl", actors=("Ann",), when=("2026-07-01",))]
    world.memory.scenes.record(being_id, drafts)
    return being_id


def test_an_export_is_a_private_file_and_prints_the_state_hash(
    nacre: Nacre, world: World, being_id: str, tmp_path: Path
) -> None:
    file = tmp_path / "ann.jsonl"

    done = nacre("export", str(file), *world.options)

    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert (done.code, done.out) == (0, f"{lines[-1]['state']}\n")
    assert done.err == f"Exported Ann: 2 records to {file}.\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert lines[0]["being"]["being_id"] == being_id
    assert [line["type"] for line in lines[1:-1]] == ["being", "scene"]
    assert list(tmp_path.glob(".nacre-*")) == []


def test_a_name_in_gz_is_packed(nacre: Nacre, world: World, being_id: str, tmp_path: Path) -> None:
    plain, packed = tmp_path / "ann.jsonl", tmp_path / "ann.jsonl.gz"

    states = [nacre("export", str(file), *world.options).out for file in (plain, packed)]

    assert states[0] == states[1]
    body = slice(1, None)
    assert (
        gzip.decompress(packed.read_bytes()).splitlines()[body][:-1]
        == (plain.read_bytes().splitlines()[body][:-1])
    )
    assert stat.S_IMODE(packed.stat().st_mode) == 0o600


def test_vectors_come_along_when_they_are_asked_for(
    nacre: Nacre, world: World, being_id: str, tmp_path: Path
) -> None:
    without = nacre("export", str(tmp_path / "1"), "--json", *world.options).json()

    with_vectors = nacre(
        "export", str(tmp_path / "2"), "--vectors", "--json", *world.options
    ).json()

    assert without["emb_ids"] == []
    assert with_vectors["emb_ids"] == [ENCODER.emb_id]
    assert with_vectors["state"] == without["state"]
    assert with_vectors["counts"] == {"being": 1, "scene": 1}


def test_a_file_that_is_there_is_replaced_by_force_only(
    nacre: Nacre, world: World, being_id: str, tmp_path: Path
) -> None:
    file = tmp_path / "ann.jsonl"
    file.write_text("precious")

    refused = nacre("export", str(file), *world.options)

    assert (refused.code, file.read_text()) == (5, "precious")
    assert refused.err == (
        f"error: {file} already exists\nhint: choose another name, or give --force\n"
    )
    assert nacre("export", str(file), "--force", *world.options).code == 0
    assert file.read_text().startswith('{"type":"nacre-export"')


def test_a_dash_is_standard_output(nacre: Nacre, world: World, being_id: str) -> None:
    done = nacre("export", "-", *world.options)

    assert json.loads(done.out.splitlines()[0])["type"] == "nacre-export"
    assert json.loads(done.out.splitlines()[-1])["type"] == "end"
    assert done.err == "Exported Ann: 2 records to standard output.\n"
    assert nacre("export", "-", "--json", *world.options).code == 2


def test_a_folder_that_is_not_there_is_named(
    nacre: Nacre, world: World, being_id: str, tmp_path: Path
) -> None:
    refused = nacre("export", str(tmp_path / "none" / "ann.jsonl"), *world.options)

    assert refused.code == 2
    assert "cannot be written (No such file or directory)" in refused.err


def test_a_being_is_chosen_as_everywhere(nacre: Nacre, world: World, being_id: str) -> None:
    nacre("being", "create", "Bob", *world.options)

    assert nacre("export", "-", *world.options).code == 2
    chosen = nacre("export", "-", "--being", "bob", *world.options)
    assert json.loads(chosen.out.splitlines()[0])["being"]["name"] == "Bob"
