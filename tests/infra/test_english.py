"""The encoder of English in a data wheel of its own: complete, unchanged, and with its licence."""

import hashlib
import re

import onnx
from onnx import numpy_helper

from infra.english import ENGLISH, FOLDER, MODEL, PIECES, ROOT, WHEEL, data_files, tensor_names
from infra.tables import SUMS
from nacre.adapters.embeddings.tensor_file import mapped_tensors

LARGEST = 35_000_000  # bytes of the wheel's data


def test_every_file_is_the_one_that_the_sums_name() -> None:
    lines = [line.split("  ") for line in (ENGLISH / SUMS).read_text().splitlines()]
    listed = {name: digest for digest, name in lines}
    actual = {
        str(path.relative_to(ENGLISH)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in data_files()
    }

    assert len(actual) == 4
    assert actual == listed
    assert sum(path.stat().st_size for path in data_files()) < LARGEST


def test_the_package_holds_the_encoder_and_what_belongs_to_it() -> None:
    files = {
        str(path.relative_to(ENGLISH))
        for path in ENGLISH.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    data = {str(path.relative_to(ENGLISH)) for path in data_files()}

    assert files - data == {
        *("__init__.py", "NOTICE", "README.md", SUMS),
        *("pyproject.toml", "licenses/Apache-2.0.txt"),
    }


def test_the_notice_names_the_source_and_a_licence_that_is_there() -> None:
    notice = (ENGLISH / "NOTICE").read_text()

    for name in (FOLDER.name, WHEEL.package, WHEEL.version, MODEL.sha256, PIECES.sha256):
        assert name in notice
    licences = set(re.findall(r"licenses/[\w.-]+\.txt", notice))
    assert licences == {"licenses/Apache-2.0.txt"}
    assert all((ENGLISH / licence).is_file() for licence in licences)


def test_the_bytes_are_kept_as_they_are_in_every_checkout() -> None:
    assert "shared/nacre_english/** -text" in (ROOT / ".gitattributes").read_text()


def test_the_graph_reads_every_weight_where_numpy_reads_it() -> None:
    graph = onnx.load(str(FOLDER / "graph.onnx")).graph  # with the weights beside it
    weights = {entry.name: numpy_helper.to_array(entry) for entry in graph.initializer}
    tensors = mapped_tensors(FOLDER / "weights.safetensors")

    names = dict(tensor_names(graph))

    assert set(names.values()) == set(tensors)
    for theirs, ours in names.items():
        assert weights[theirs].dtype == tensors[ours].dtype
        assert (weights[theirs] == tensors[ours]).all()
