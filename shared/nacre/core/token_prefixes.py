"""The prefixes of the product's own secrets, used to create them and to find them in texts.

The authorizer loads this module on every cold start, so it imports next to nothing.
"""

from collections.abc import Mapping

API = "brt"
OAUTH_ACCESS = "bto"
OAUTH_REFRESH = "btr"
OAUTH_CODE = "btc"
OWNER_SECRET = "bos"  # noqa: S105  a prefix, not a secret
KINDS: Mapping[str, str] = {
    API: "API token",
    OAUTH_ACCESS: "OAuth access token",
    OAUTH_REFRESH: "OAuth refresh token",
    OAUTH_CODE: "OAuth code",
    OWNER_SECRET: "owner secret",
}
RANDOM_LENGTH = 43  # 62**43 > 2**256
CHECKSUM_LENGTH = 6  # 62**6 > 2**32

ANYWHERE = rf"(?:{'|'.join(KINDS)})_[0-9A-Za-z]{{{RANDOM_LENGTH + CHECKSUM_LENGTH}}}"
"""A whole token, also right behind another letter."""

SCANNER_PATTERN = rf"\b{ANYWHERE}\b"
"""For secret scanners and log filters; `tokens.kind_of` then tells real tokens from look-alikes."""
