"""Made-up secrets in parts, so that no scanner takes the repository for a leak, and look-alikes."""

# ruff: noqa: E501 (a table is read best with one case in a line)

import random
import string
from typing import Any

_ALNUM = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"
# Name, what comes before the random part, its alphabet and length, and what comes after.
_TOKENS: tuple[tuple[str, tuple[str, ...], str, int, str], ...] = (
    ("a cloud's access key", ("AK", "IA"), string.ascii_uppercase + string.digits, 16, ""),
    ("a cloud's secret key by its name", ("aws_secret_access", "_key = "), _ALNUM, 40, ""),
    ("a code host's token", ("gh", "p_"), _ALNUM, 36, ""),
    ("a code host's new token", ("github", "_pat_"), _ALNUM, 60, ""),
    ("another code host's token", ("glp", "at-"), _ALNUM, 20, ""),
    ("a chat's token", ("xo", "xb-"), _ALNUM, 40, ""),
    ("a payment service's key", ("sk_", "live_"), _ALNUM, 24, ""),
    ("a model vendor's key", ("sk-", "ant-"), _ALNUM, 60, ""),
    ("another model vendor's key", ("gs", "k_"), _ALNUM, 52, ""),
    ("a registry's token", ("np", "m_"), _ALNUM, 36, ""),
    ("an image registry's token", ("dckr", "_pat_"), _ALNUM, 27, ""),
    ("a shop's token", ("shp", "at_"), _HEX, 32, ""),
    ("a phone service's key", ("S", "K"), _HEX, 32, ""),
    ("a data platform's token", ("da", "pi"), _HEX, 32, ""),
    ("a tracker's token", ("lin_", "api_"), _ALNUM, 40, ""),
    ("a monitor's token", ("glc", "_"), _ALNUM, 40, ""),
    ("a header", ("Authorization: Bea", "rer "), _ALNUM, 40, ""),
    ("a password in a URL", ("postgres://app:", ""), _ALNUM, 16, "@db.example/app"),
    ("a password by its name", ("password: ", ""), _ALNUM, 16, ""),
    ("a key block", ("-----BEGIN PRI", "VATE KEY-----\n"), _ALNUM, 120, "\n-----END PRIVATE KEY-----"),
    ("this product's token", ("br", "t_"), _ALNUM, 43, ""),
    ("a storage key", ("Account", "Key="), _ALNUM, 86, "=="),
)  # fmt: skip
_KEPT: tuple[tuple[str, str], ...] = (
    ("a placeholder", "api_key: <your key here>"),
    ("a variable", "password: ${DB_PASSWORD}"),
    ("a reference to the environment", "token = os.environ['TOKEN']"),
    ("stars", "secret: ********"),
    ("words about passwords", "The password must have twelve characters."),
    ("a token too short", "ghp" + "_abc123"),
    ("a cursor", "nextPageToken: CAUQAA9x7Bq2"),
    ("a count of tokens", "max_tokens: 4096000000"),
    ("a phone number", "+49 30 901820"),
    ("a path", "/nix/store/0c3fwzv8ykhx8kq3rj8m5h1r9k2w7d6q-python3"),
    ("a UUID", "550e8400-e29b-41d4-a716-446655440000"),
    ("a card number, which nobody asked to hide", "4242 4242 4242 4242"),
)


def rows() -> list[dict[str, Any]]:
    """Return the texts in parts: three secrets of each form, and look-alikes."""
    chance = random.Random(13)
    found: list[dict[str, Any]] = []
    for name, before, alphabet, size, after in _TOKENS:
        for number in range(3):
            # A password needs a digit to be told from a word.
            value = "".join(chance.choices(alphabet, k=size - 2)) + "7a" if size != 16 else ""
            if size == 16:
                value = "".join(chance.choices(alphabet, k=14)) + (
                    "7A" if before[0] == "AK" else "7a"
                )
            parts = [*before, value[: size // 2], value[size // 2 :], after]
            found.append({"name": f"{name} {number + 1}", "parts": parts, "expected": "redact"})
    for size, what in ((40, "a commit"), (64, "a digest"), (32, "a checksum")):
        for number in range(4):
            text = "".join(chance.choices(_HEX, k=size))
            found.append({"name": f"{what} {number + 1}", "parts": [text], "expected": "keep"})
    found += [{"name": name, "parts": [text], "expected": "keep"} for name, text in _KEPT]
    return found
