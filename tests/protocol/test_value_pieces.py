"""A value that comes in pieces is the value that was sent."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.firewall.enforce.large_results import is_large
from nacre.protocol.value_pieces import joined, value_pieces

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
SIZABLE = st.builds(
    lambda text, times: text * times, st.text(min_size=1, max_size=3), st.integers(1, 30_000)
)
VALUES = st.recursive(
    SCALARS | SIZABLE,
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.text(), inner, max_size=5)
        | st.builds(lambda value, times: [value] * times, inner, st.integers(1, 9))
    ),
    max_leaves=5,
)


def anything_is_large(value: Any) -> bool:
    return len(value) > 1


@given(VALUES, st.sampled_from([anything_is_large, bool, is_large]))
def test_a_value_survives_its_pieces(value: Any, large: Any) -> None:
    pieces = b"\n".join(value_pieces(value, large))

    assert json.dumps(joined(pieces)) == json.dumps(value)


@pytest.mark.parametrize(
    "value",
    [
        {
            "text": "a line\n\u2028\x7f\ud83d\udc1a".encode("utf-16", "surrogatepass").decode(
                "utf-16"
            )
            * 50_000
        },
        {"rows": [{"id": number, "on": True, "tags": []} for number in range(20_000)]},
        [number % 7 for number in range(100_000)],
        {f"name {number}": {"": [None]} for number in range(9_000)},
        [["x" * 300_000], {"": "y" * 300_000}, 1.5e300, -0.0, 10**400],
    ],
)
def test_a_large_value_comes_in_pieces_that_are_short(value: Any) -> None:
    pieces = list(value_pieces(value, is_large))

    assert len(pieces) > 4
    assert max(map(len, pieces)) < 600_000
    assert joined(b"\n".join(pieces)) == value
