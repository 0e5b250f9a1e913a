"""One plain command of a POSIX shell: no operator, no substitution, no redirection."""

import re

_MAX_LENGTH = 100_000
_WORD = r"A-Za-z0-9_@%+=:,./^~*?\-"
_PART = re.compile(rf"[{_WORD}]+|'([^'\"]*)'|\"([^'\"]*)\"")
# Refused between quotes too: other shells, or a second shell, may interpret them there.
_NEVER = frozenset(";&|<>()$`\\!#{}[]\n\r\t\0")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_RESERVED = frozenset(
    (
        *("case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if"),
        *("in", "select", "then", "time", "until", "while"),
    )
)


def one_command(text: str) -> tuple[str, ...] | None:
    """Return one command, as written and without its quotes, or None for anything else.

    Anything else is more than one command, a variable, a substitution, a redirection, an
    assignment before the command, a comment, a line break, a keyword of the shell, and
    anything that shells read differently. Several blanks between words count as one.
    """
    if len(text) > _MAX_LENGTH or not _NEVER.isdisjoint(text):
        return None
    if (
        not all(character.isascii() or character.isalnum() for character in text)
        or not text.isprintable()
    ):
        return None
    words: list[str] = []
    plain_words: list[str] = []
    place = 0
    stripped = text.strip(" ")
    while place < len(stripped):
        end = place
        plain_word = ""
        while end < len(stripped) and stripped[end] != " ":
            part = _PART.match(stripped, end)
            if part is None:
                return None
            quoted = part[1] if part[1] is not None else part[2]
            plain_word += part[0] if quoted is None else quoted
            end = part.end()
        words.append(stripped[place:end])
        plain_words.append(plain_word)
        place = end
        while place < len(stripped) and stripped[place] == " ":
            place += 1
    if (
        not words
        or _ASSIGNMENT.match(plain_words[0])
        or plain_words[0] in _RESERVED
        or not plain_words[0]
    ):
        return None
    return " ".join(words), " ".join(plain_words)
