"""Signed requests to a table with the credentials of the function, without boto3."""

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from nacre.access.tokens.token_check import Lookup
    from nacre.adapters.aws.dynamodb.get import Credentials, SignedGet
    from nacre.wiring.settings import Settings

S = TypeVar("S", bound="SignedGet")


def signed(kind: type[S], table: str, settings: "Settings") -> S:
    """Return a sender of one kind of request to a table."""
    return kind(
        table,
        region=settings.region,
        credentials=_credentials(settings),
        endpoint_url=settings.endpoint_url,
    )


def _credentials(settings: "Settings") -> "Credentials | Callable[[], Credentials]":
    if settings.credentials_url:
        from nacre.adapters.aws.container_credentials import ContainerCredentials

        return ContainerCredentials(settings.credentials_url, settings.credentials_token.reveal())
    from nacre.adapters.aws.dynamodb.get import Credentials

    return Credentials(
        settings.access_key_id,
        settings.secret_access_key.reveal(),
        settings.session_token.reveal(),
    )


def token_lookup(settings: "Settings") -> "Lookup":
    """Return the authorizer's search for a token: one signed request."""
    from nacre.access.tokens.token_check import token_key
    from nacre.adapters.aws.dynamodb.get import SignedGet

    settings.require("tokens_table", "region", *settings.signing_fields)
    tokens = signed(SignedGet, settings.tokens_table, settings)
    return lambda sha256: tokens.get(token_key(sha256))
