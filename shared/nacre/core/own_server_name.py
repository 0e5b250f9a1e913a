"""The name under which rules know a Being's own server, which no other server may have."""

OWN = "nacre"


def is_own(name: str) -> bool:
    """Tell whether a server's name is our own, or is read as it."""
    if not name.isascii():
        # Such names are rare, and the start of a function should not pay for this import.
        import unicodedata  # noqa: PLC0415

        folded = unicodedata.normalize("NFKC", name)
        name = "".join(letter for letter in folded if unicodedata.category(letter) != "Cf")
    return name.strip().casefold() == OWN
