"""The sentence encoder that ships: complete, unchanged, and with its licence."""

import hashlib
import re

import numpy as np
import pytest

from infra.encoder import (
    ENCODER,
    FOLDER,
    PIECES,
    ROOT,
    WEIGHTS,
    WHEEL,
    coded,
    data_files,
    fields,
    nibbles,
    write_tensors,
)
from infra.tables import SUMS
from nacre.adapters.embeddings.multilingual_encoder import PieceRows
from nacre.adapters.embeddings.tensor_file import Tensor, mapped_tensors

LARGEST = 45_000_000  # bytes of the package, which every installation carries


def test_every_file_is_the_one_that_the_sums_name() -> None:
    lines = [line.split("  ") for line in (ENCODER / SUMS).read_text().splitlines()]
    listed = {name: digest for digest, name in lines}
    found = {
        str(path.relative_to(ENCODER)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in data_files()
    }

    assert len(found) == 3
    assert found == listed
    assert sum(path.stat().st_size for path in data_files()) < LARGEST


def test_the_package_holds_the_encoder_and_what_belongs_to_it() -> None:
    found = {
        str(path.relative_to(ENCODER))
        for path in ENCODER.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    data = {str(path.relative_to(ENCODER)) for path in data_files()}

    assert found - data == {
        *("__init__.py", "NOTICE", "README.md", SUMS),
        *("pyproject.toml", "licenses/Apache-2.0.txt"),
    }


def test_the_notice_names_the_source_and_a_licence_that_is_there() -> None:
    notice = (ENCODER / "NOTICE").read_text()

    for name in (FOLDER.name, WHEEL.package, WHEEL.version, WEIGHTS.sha256, PIECES.sha256):
        assert name in notice
    licences = set(re.findall(r"licenses/[\w.-]+\.txt", notice))
    assert licences == {"licenses/Apache-2.0.txt"}
    assert all((ENCODER / licence).is_file() for licence in licences)


def test_the_bytes_are_kept_as_they_are_in_every_checkout() -> None:
    assert "shared/nacre_encoder/** -text" in (ROOT / ".gitattributes").read_text()


def test_four_bits_and_a_list_say_what_six_bits_said() -> None:
    rng = np.random.default_rng(1)
    levels = np.clip(rng.normal(30, 3, (70, 512)), 0, 63).astype(np.uint8)
    levels[5, 3], levels[5, 511], levels[69, 0] = 63, 0, 60
    # In the model's table each piece has the scale of one of several parts.
    scales, lows = np.array([0.5, 2.0], np.float32), np.array([-3.0, 1.0], np.float32)
    rows = PieceRows({**nibbles(levels), "chunk_scales": scales, "chunk_lows": lows})

    ids = np.array([5, 69, 0, 5, 11])
    expected = levels[ids] * scales[ids % 2][:, None] + lows[ids % 2][:, None]
    np.testing.assert_array_equal(rows.of(ids), expected.astype(np.float32))


def test_a_matrix_of_few_values_is_kept_without_loss() -> None:
    values = np.linspace(-1, 1, 256, dtype=np.float32)
    matrix = np.random.default_rng(1).choice(values, (40, 30))

    tensors = coded({"m": matrix})

    np.testing.assert_array_equal(tensors["m.values"][tensors["m.codes"]], matrix)
    with pytest.raises(SystemExit, match="more than a byte can number"):
        coded({"m": np.arange(257, dtype=np.float32)})


def test_what_is_written_is_what_is_read(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("tensors") / "file"
    tensors: dict[str, Tensor] = {
        "bytes": np.arange(5, dtype=np.uint8),
        "floats": np.array([[1.5, -2.25]], np.float32),
        "places": np.array([7, 2**32 - 1], np.uint32),
    }
    write_tensors(path, tensors)

    read = mapped_tensors(path)

    assert set(read) == set(tensors)
    for name, tensor in tensors.items():
        assert read[name].dtype == tensor.dtype
        np.testing.assert_array_equal(read[name], tensor)


def test_the_fields_of_a_message_are_read_and_numbers_skipped() -> None:
    message = b"\x0a\x03abc" + b"\x10\x96\x01" + b"\x1d\x00\x00\x80\x3f" + b"\x22\x00"

    assert list(fields(message)) == [(1, b"abc"), (3, b"\x00\x00\x80?"), (4, b"")]
