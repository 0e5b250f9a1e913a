"""Files of points: what is written is read, and damage is noticed."""

from contextlib import suppress
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.adapters.vectors.point_file import DamagedFileError, StoredPoint, decoded, encoded
from nacre.adapters.vectors.point_rows import Row, pack_terms

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
days = st.dates().map(lambda day: day.isoformat())
rows = st.builds(
    Row,
    id=texts,
    kind=st.sampled_from(("node", "scene")),
    state=texts,
    cluster_id=st.none() | texts,
    days=st.lists(days, max_size=3).map(tuple),
    vector=st.none() | st.binary(min_size=8, max_size=8) | st.binary(min_size=32, max_size=32),
    packed_terms=st.lists(texts, max_size=5).map(pack_terms),
)
points = st.lists(st.builds(StoredPoint, rows, texts, st.none() | texts.filter(bool)), max_size=12)


@given(points)
def test_points_come_back_as_they_were(some: list[StoredPoint]) -> None:
    assert decoded(encoded(some, "test:words:8:1")) == some


@given(points, st.integers(0, 2**32))
def test_a_damaged_file_is_refused_or_read_and_nothing_else(
    some: list[StoredPoint], seed: int
) -> None:
    rng = Random(seed)
    file = bytearray(encoded(some, "test:words:8:1"))
    for _ in range(rng.randrange(1, 4)):
        file[rng.randrange(len(file))] = rng.randrange(256)

    with suppress(DamagedFileError):
        decoded(bytes(file))
    with pytest.raises(DamagedFileError):
        decoded(bytes(file[: rng.randrange(len(file))]))
