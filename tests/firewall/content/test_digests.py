"""Digests of arguments: the same for a value however large it is."""

import hashlib
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.firewall.content import digests
from nacre.firewall.content.digests import (
    arguments_sha256,
    canonical,
    digest,
    masked_name,
    plain_arguments,
    shape,
)
from nacre.firewall.rules.arguments.arguments import JsonNumber

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=12)
    | st.sampled_from([JsonNumber("1.0"), JsonNumber("1e400"), JsonNumber("7")]),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(values, st.sampled_from([0, 1, 3]))
def test_a_value_in_pieces_has_the_digest_of_the_whole(value: Any, piece: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(digests, "_PIECE", max(1, piece))
        assert b"".join(digests._pieces(value)) == canonical(value)
        assert digest(value) == hashlib.sha256(canonical(value)).hexdigest()


@given(st.dictionaries(st.text(max_size=6), values | st.just(JsonNumber("-0")), max_size=4))
def test_arguments_have_the_digest_of_any_value(arguments: dict[str, Any]) -> None:
    assert arguments_sha256(arguments) == digest(arguments)


def test_the_digest_of_an_image_takes_no_copy_of_it() -> None:
    arguments = {"images": [{"data": "A" * 4_000_000, "mimeType": "image/png"}]}
    tracemalloc.start()
    try:
        digest(arguments)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < 1_000_000


KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.mark.parametrize("name", [KEY, f"the-{KEY}", f"{KEY} {'x' * 600}", f"{'x' * 50} {KEY}"])
def test_a_secret_in_the_place_of_a_name_is_not_shown(name: str) -> None:
    shapes = shape({name: 1, "path": "/tmp"})

    assert KEY[:20] not in str(shapes)
    assert KEY[:20] not in masked_name(name)
    assert shapes["path"] == "text 4"
    assert plain_arguments({name: "x"}) is None  # the long way shows the mark
    assert arguments_sha256({name: "x"}) == digest({name: "x"})


@pytest.mark.parametrize("name", ["q", "path", "mcp__server-everything__get_annotated_message"])
def test_an_ordinary_name_is_shown(name: str) -> None:
    assert list(shape({name: 1})) == [masked_name(name)] == [name]
