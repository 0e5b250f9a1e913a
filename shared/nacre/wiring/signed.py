"""Signed requests to a table with the credentials of the function, without boto3."""

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from nacre.adapters.dynamodb_get import SignedGet
    from nacre.wiring.settings import Settings

S = TypeVar("S", bound="SignedGet")


def signed(kind: type[S], table: str, settings: "Settings") -> S:
    """Return what sends requests of this kind to a table."""
    from nacre.adapters.dynamodb_get import Credentials

    return kind(
        table,
        region=settings.region,
        credentials=Credentials(
            settings.access_key_id,
            settings.secret_access_key.reveal(),
            settings.session_token.reveal(),
        ),
        endpoint_url=settings.endpoint_url,
    )
