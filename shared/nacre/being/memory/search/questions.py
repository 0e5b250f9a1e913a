"""Questions: texts that only ask something, and queries without what all questions share.

"Wow! How long have you been playing?" resembles every question about playing and answers none.
To a sentence encoder, all questions resemble each other: "What pet does she have?" is nearer to
"What do you think?" than to "Aiko adopted a cat". A search has the vector without that direction.
"""

import re
from array import array
from base64 import b64decode
from functools import cache
from math import sqrt
from operator import mul

from nacre.being.memory.search.question_directions import DIRECTIONS
from nacre.ports.vectors.embedder import Vector
from nacre.text.analysis import terms

_SENTENCE = re.compile("[^.!?\u3002\uff01\uff1f\u2026\n]+[.!?\u3002\uff01\uff1f\u2026]*")
_QUESTION_MARK = re.compile("[?\uff1f]")
_ASKED_WORD = 0.5  # of a word: a long question tells something about who asks
_ENOUGH = 12  # words with a meaning, from which a text tells enough, whatever else it asks
_LONGEST = 400  # characters; longer texts tell enough
_NEARLY_ONE = 0.999  # of a vector with so much of the direction, nothing would remain


def asking_share(text: str) -> float:
    """Return the part of a text that only asks, from 0 to 1; 0 for a text without a question."""
    if len(text) > _LONGEST or _QUESTION_MARK.search(text) is None:
        return 0.0
    words = 0.0
    for sentence in _SENTENCE.findall(text):
        is_question = _QUESTION_MARK.search(sentence) is not None
        words += len(terms(sentence)) * (_ASKED_WORD if is_question else 1.0)
    return max(0.0, 1 - words / _ENOUGH)


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
