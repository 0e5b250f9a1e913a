"""One plain command of a POSIX shell: no operator, no substitution, no redirection."""

import re

_LONGEST = 100_000
_WORD = r"A-Za-z0-9_@%+=:,./^~*?\-"
_PART = re.compile(rf"[{_WORD}]+|'([^'\"]*)'|\"([^'\"]*)\"")
# Not even between quotes: other shells, and a shell that reads the text again, see them there.
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
    whatever shells read differently. Blanks between words count as one.
    """
    if len(text) > _LONGEST or not _NEVER.isdisjoint(text):
        return None
    if not all(each.isascii() or each.isalnum() for each in text) or not text.isprintable():
        return None
    written: list[str] = []
    plain: list[str] = []
    place = 0
    stripped = text.strip(" ")
    while place < len(stripped):
        end = place
        word = ""
        while end < len(stripped) and stripped[end] != " ":
            part = _PART.match(stripped, end)
            if part is None:
                return None
            quoted = part[1] if part[1] is not None else part[2]
            word += part[0] if quoted is None else quoted
            end = part.end()
        written.append(stripped[place:end])
        plain.append(word)
        place = end
        while place < len(stripped) and stripped[place] == " ":
            place += 1
    if not written or _ASSIGNMENT.match(plain[0]) or plain[0] in _RESERVED or not plain[0]:
        return None
    return " ".join(written), " ".join(plain)
