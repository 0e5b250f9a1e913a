"""Points as items: read as they were written, and no larger than they must be."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.adapters.aws.dynamodb.attribute_values import encode_item
from nacre.being.memory.index.vector_items import VectorItem, from_item
from tests.end_to_end.load.units import size

BEING = "00000000-0000-4000-8000-000000000001"
ITEM = VectorItem(
    id="a",
    kind="node",
    text="[2026-07-01] Ann: Ann fed the cat (in the yard)",
    text_sha="0" * 32,
    state="active",
    cluster_id=None,
    days=("2026-07-01",),
    subject="Ann fed the cat",
)


@given(st.text(), st.text(), st.text())
def test_an_item_is_read_as_it_was_written(before: str, subject: str, after: str) -> None:
    for text in (before + subject + after, before):
        point = replace(ITEM, text=text, subject=subject)

        assert from_item(point.to_item(BEING)) == point


def test_an_item_without_a_subject_has_none() -> None:
    point = replace(ITEM, subject=None)

    assert from_item(point.to_item(BEING)) == point


def test_a_subject_that_is_part_of_the_text_takes_few_bytes() -> None:
    action = "Ann fed the cat " * 20
    sizes = [
        size(encode_item(replace(ITEM, text=f"Ann: {action}", subject=subject).to_item(BEING)))
        for subject in (None, action)
    ]

    assert sizes[1] - sizes[0] < 25


@pytest.mark.parametrize("version", [1, 2])
def test_a_subject_of_an_earlier_version_is_a_text(version: int) -> None:
    item = {**ITEM.to_item(BEING), "subject": ITEM.subject, "schema": version}

    assert from_item(item) == ITEM
