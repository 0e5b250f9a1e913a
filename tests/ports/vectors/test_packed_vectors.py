import math
from array import array

from hypothesis import assume, given
from hypothesis import strategies as st

from nacre.ports.vectors.packed_vectors import packed, rounded, unpacked

parts = st.floats(min_value=-1, max_value=1, width=32)


def unit(numbers: list[float]) -> bytes:
    length = math.sqrt(math.fsum(number * number for number in numbers))
    assume(length > 1e-3)
    return array("f", [number / length for number in numbers]).tobytes()


def numbers_in(vector: bytes) -> "array[float]":
    return array("f", vector)


@given(st.lists(parts, min_size=2, max_size=64))
def test_a_packed_vector_keeps_its_direction(numbers: list[float]) -> None:
    vector = unit(numbers)

    read = rounded(vector)

    product = math.fsum(a * b for a, b in zip(numbers_in(vector), numbers_in(read), strict=True))
    assert product > 0.999
    assert math.isclose(math.fsum(a * a for a in numbers_in(read)), 1, abs_tol=1e-5)


@given(st.lists(parts, min_size=2, max_size=800))
def test_packing_again_loses_nothing(numbers: list[float]) -> None:
    small = packed(unit(numbers))

    assert len(small) == len(numbers)
    assert packed(unpacked(small, len(numbers))) == small


def test_a_vector_of_zeros_stays_zero() -> None:
    assert unpacked(packed(bytes(4 * 8)), 8) == bytes(4 * 8)


def test_a_vector_of_the_first_version_is_read_as_it_is() -> None:
    vector = array("f", [0.6, 0.8]).tobytes()

    assert unpacked(vector, 2) == vector
