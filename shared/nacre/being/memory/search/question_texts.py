"""The part of a text that only asks something, and so answers little.

"Wow! How long have you been playing?" resembles every question about playing and answers none.
"""

import re

from nacre.text.analysis import terms

_SENTENCE = re.compile("[^.!?\u3002\uff01\uff1f\u2026\n]+[.!?\u3002\uff01\uff1f\u2026]*")
_QUESTION_MARK = re.compile("[?\uff1f]")
_ASKED_WORD = 0.5  # of a word: a long question tells something about who asks
_ENOUGH = 12  # words with a meaning, from which a text tells enough, whatever else it asks
_LONGEST = 400  # characters; longer texts tell enough


def asking_share(text: str) -> float:
    """Return the part of a text that only asks, from 0 to 1; 0 for a text without a question."""
    if len(text) > _LONGEST or _QUESTION_MARK.search(text) is None:
        return 0.0
    words = 0.0
    for sentence in _SENTENCE.findall(text):
        is_question = _QUESTION_MARK.search(sentence) is not None
        words += len(terms(sentence)) * (_ASKED_WORD if is_question else 1.0)
    return max(0.0, 1 - words / _ENOUGH)
