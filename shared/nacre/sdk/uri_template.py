"""URI templates: RFC 6570 level 1, where `{id}` stands for one path segment."""

import re

from nacre.core.errors import InvalidInputError

_EXPRESSION = re.compile(r"\{([^{}]*)\}")
# A URI has no spaces and no control characters; what is special to it is percent-encoded.
_SEGMENT = r"[^/?#\x00-\x20\x7f]+"
_SEPARATORS = re.compile(r"([/?#])")
# Where several variables share a segment, every way to divide it is tried.
_MAX_IN_SEGMENT = 2
_MAX_DIVIDED = 2000
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class UriTemplate:
    """A template that reads the values of its variables from a URI."""

    def __init__(self, text: str) -> None:
        names = _EXPRESSION.findall(text)
        for name in names:
            if not _VARIABLE.fullmatch(name) or names.count(name) > 1:
                raise InvalidInputError(
                    f"'{text}': '{{{name}}}' must be one variable, used once, as in {{id}}"
                )
        if not names:
            raise InvalidInputError(f"'{text}' has no {{variable}}: it is one resource")
        parts = _SEPARATORS.split(text)
        most = max(len(_EXPRESSION.findall(part)) for part in parts)
        if most > _MAX_IN_SEGMENT:
            raise InvalidInputError(
                f"'{text}' has {most} variables between two slashes, at most"
                f" {_MAX_IN_SEGMENT} are possible; put a '/' between them"
            )
        self.text = text
        self.variables: tuple[str, ...] = tuple(names)
        self._longest = _MAX_DIVIDED if most > 1 else None
        self._pattern = re.compile("".join(map(_part, parts)))

    def values(self, uri: str) -> dict[str, str] | None:
        """Return the variables' values, percent-decoded; None for a URI of another form."""
        if self._longest is not None and len(uri) > self._longest:
            return None
        match = self._pattern.fullmatch(uri)
        if match is None:
            return None
        from urllib.parse import unquote  # noqa: PLC0415 - a cold start does not wait for it

        try:
            return {
                name: unquote(part, errors="strict") for name, part in match.groupdict().items()
            }
        except UnicodeDecodeError:
            return None


def _part(text: str) -> str:
    """Return the expression for a separator, or for the text between two of them."""
    literals_and_names = _EXPRESSION.split(text)
    expression = "".join(
        f"(?P<{piece}>{_SEGMENT})" if place % 2 else re.escape(piece)
        for place, piece in enumerate(literals_and_names)
    )
    # Atomic, so that a part is divided only once, even if the rest does not match.
    return expression if len(literals_and_names) == 1 else rf"(?>{expression}(?=[/?#]|\Z))"
