"""The form of a token."""

import hashlib
import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.access.tokens.token_format import LENGTH, digest, hint, kind_of, mint
from nacre.core.token_prefixes import KINDS, SCANNER_PATTERN

kinds = st.sampled_from(sorted(KINDS))
seeds = st.integers(min_value=0)
characters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@given(kinds, seeds)
def test_a_new_token_is_of_its_kind_and_found_by_secret_scanners(kind: str, seed: int) -> None:
    token = mint(kind, Random(seed))

    assert kind_of(token) == kind
    assert len(token) == LENGTH == 53
    assert re.findall(SCANNER_PATTERN, f'"Bearer {token}", more') == [token]


@given(kinds, seeds, st.integers(min_value=0, max_value=52), st.sampled_from(characters))
def test_no_single_wrong_character_survives_the_checksum(
    kind: str, seed: int, at: int, character: str
) -> None:
    token = mint(kind, Random(seed))
    typo = token[:at] + character + token[at + 1 :]

    assert (kind_of(typo) == kind) is (typo == token)


@given(st.text(max_size=60))
def test_any_text_has_a_kind_or_none_and_never_crashes(text: str) -> None:
    assert kind_of(text) in {None, *KINDS}


@pytest.mark.parametrize("number", [0, 2**256 - 1])
def test_the_smallest_and_the_largest_number_fit(number: int) -> None:
    class Fixed(Random):
        def getrandbits(self, k: int, /) -> int:
            assert k == 256
            return number

    assert kind_of(mint("brt", Fixed())) == "brt"


def test_a_token_of_another_prefix_with_the_same_body_is_not_valid() -> None:
    token = mint("btr", Random(1))

    assert kind_of("brt" + token[3:]) is None


def test_an_unknown_kind_cannot_be_minted() -> None:
    with pytest.raises(ValueError, match="'xyz'"):
        mint("xyz", Random(1))


def test_a_token_is_stored_under_its_sha_256() -> None:
    token = mint("brt", Random(1))

    assert digest(token) == hashlib.sha256(token.encode()).hexdigest()


def test_a_hint_tells_tokens_apart_without_giving_them_away() -> None:
    token = mint("brt", Random(1))

    assert hint(token) == f"brt_…{token[-4:]}"
