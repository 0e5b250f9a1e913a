"""Vectors of queries without the direction that all questions share.

To a sentence encoder, all questions resemble each other: "What pet does she have?" is nearer to
"What do you think?" than to "Aiko adopted a cat". A search has the vector without that direction.
"""

from array import array
from base64 import b64decode
from functools import cache
from math import sqrt
from operator import mul

from nacre.being.memory.search.question_directions import DIRECTIONS
from nacre.ports.vectors.embedder import Vector

_NEARLY_ONE = 0.999  # of such a vector nothing would remain


def without_question(vector: Vector, emb_id: str) -> Vector:
    """Return the vector of a query to search with, of unit length.

    It is the same vector if the direction of questions is not known for the model.
    """
    direction = _direction(emb_id)
    if not direction:
        return vector
    numbers = array("f", vector)
    share: float = sum(map(mul, numbers, direction))
    if abs(share) > _NEARLY_ONE:
        return vector
    scale = 1 / sqrt(1 - share * share)
    rest = [scale * (own - share * common) for own, common in zip(numbers, direction, strict=True)]
    return array("f", rest).tobytes()


@cache
def _direction(emb_id: str) -> tuple[float, ...]:
    numbers = array("b", b64decode(DIRECTIONS.get(emb_id, "")))
    length = sqrt(sum(number * number for number in numbers))
    return tuple(number / length for number in numbers)
