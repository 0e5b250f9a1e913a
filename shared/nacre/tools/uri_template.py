"""URI templates: RFC 6570 level 1, where `{id}` stands for one path segment."""

import re
from urllib.parse import unquote

from nacre.errors import InvalidInputError

_EXPRESSION = re.compile(r"\{([^{}]*)\}")
# A URI has no spaces and no control characters; what is special to it is percent-encoded.
_SEGMENT = r"[^/?#\x00-\x20\x7f]+"
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
        self.text = text
        self.variables: tuple[str, ...] = tuple(names)
        literals_and_names = _EXPRESSION.split(text)
        self._pattern = re.compile(
            "".join(
                f"(?P<{piece}>{_SEGMENT})" if place % 2 else re.escape(piece)
                for place, piece in enumerate(literals_and_names)
            )
        )

    def values(self, uri: str) -> dict[str, str] | None:
        """Return the variables' values, percent-decoded; None for a URI of another form."""
        match = self._pattern.fullmatch(uri)
        if match is None:
            return None
        try:
            return {
                name: unquote(part, errors="strict") for name, part in match.groupdict().items()
            }
        except UnicodeDecodeError:
            return None
