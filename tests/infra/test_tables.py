"""The embedding tables that ship: complete, unchanged, and with their licences."""

import hashlib
import re

import numpy as np
import pytest

from infra.tables import SOURCES, SUMS, TABLES, Source, data_files, quantise, without_common


def test_every_file_is_the_one_that_the_sums_name() -> None:
    lines = [line.split("  ") for line in (TABLES / SUMS).read_text().splitlines()]
    listed = {name: digest for digest, name in lines}
    found = {
        str(path.relative_to(TABLES)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in data_files()
    }

    assert len(found) == 8
    assert found == listed


def test_the_package_holds_the_tables_and_what_belongs_to_them() -> None:
    found = {
        str(path.relative_to(TABLES))
        for path in TABLES.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    data = {str(path.relative_to(TABLES)) for path in data_files()}

    assert found - data == {
        *("__init__.py", "NOTICE", "README.md", SUMS, "pyproject.toml"),
        *("licenses/MIT-potion.txt", "licenses/Apache-2.0.txt"),
    }


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.table)
def test_the_notice_names_the_source_and_a_licence_that_is_there(source: Source) -> None:
    notice = (TABLES / "NOTICE").read_text()

    for name in (source.table, source.wheel.package, source.wheel.version, source.rows.sha256):
        assert name in notice
    licences = set(re.findall(r"licenses/[\w.-]+", notice))
    assert licences == {"licenses/MIT-potion.txt", "licenses/Apache-2.0.txt"}
    assert all((TABLES / licence).is_file() for licence in licences)


@pytest.mark.parametrize(
    ("table", "shape"),
    [("potion_base_8m", (29528, 256)), ("potion_multilingual_128m", (118948, 128))],
)
def test_a_table_has_a_piece_a_scale_and_a_length_for_each_row(
    table: str, shape: tuple[int, int]
) -> None:
    folder = TABLES / table
    rows = np.load(folder / "rows.npy")
    scales = np.load(folder / "scales.npy")
    norms = np.load(folder / "norms.npy")
    pieces = (folder / "pieces.txt").read_text(encoding="utf-8").split("\n")

    assert (rows.dtype, scales.dtype, norms.dtype) == (np.int8, np.float32, np.float32)
    assert rows.shape == shape
    assert scales.shape == norms.shape == (len(pieces),) == shape[:1]
    assert len(set(pieces)) == len(pieces)
    lengths = np.linalg.norm(rows.astype(np.float32) * scales[:, None], axis=1)
    np.testing.assert_allclose(norms, lengths, rtol=1e-5)


def test_rounding_a_row_moves_no_number_by_more_than_half_a_step() -> None:
    rows = np.random.default_rng(1).normal(size=(500, 64)).astype(np.float32)
    rows[7] = 0

    quantised, scales, norms = quantise(rows)

    assert np.max(np.abs(quantised * scales[:, None] - rows)) <= np.max(scales) / 2 * 1.0001
    assert np.max(np.abs(quantised)) == 127
    assert (norms[7], scales[7], quantised[7].any()) == (0, 0, False)


def test_what_frequent_rows_share_is_in_no_row_afterwards() -> None:
    rows = np.random.default_rng(1).normal(size=(500, 64)).astype(np.float32) + 1
    common = rows[:100].mean(axis=0)

    found = without_common(rows[:100], rows)

    assert np.abs(found @ common).max() < 1e-3
    np.testing.assert_array_equal(without_common(rows[:0], rows), rows)
