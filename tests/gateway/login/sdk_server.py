"""A server of the official Python SDK, whose own authorization server lets everybody in."""

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl

from tests.scaffolding.asgi_server import served_at


class OpenProvider(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Clients, codes and tokens in memory. A refresh token is good for one use."""

    def __init__(self) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.refresh: dict[str, RefreshToken] = {}
        self.access: dict[str, AccessToken] = {}

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[str(client_info.client_id)] = client_info

    async def authorize(
        self, client: OAuthClientInformationFull, params: AuthorizationParams
    ) -> str:
        code = AuthorizationCode(
            code=secrets.token_urlsafe(32),
            client_id=str(client.client_id),
            expires_at=time.time() + 60,
            **params.model_dump(exclude={"state", "scopes"}),
            scopes=params.scopes or [],
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(
        self, client: Any, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: Any, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        code = authorization_code
        del self.codes[code.code]
        return self._tokens(code.client_id, code.scopes, code.resource)

    async def load_refresh_token(self, client: Any, refresh_token: str) -> RefreshToken | None:
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: Any, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        token = refresh_token
        del self.refresh[token.token]
        return self._tokens(token.client_id, scopes, token.resource)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.access.pop(token.token, None)
        self.refresh.pop(token.token, None)

    def _tokens(self, client_id: str, scopes: list[str], resource: str | None) -> OAuthToken:
        more: dict[str, Any] = {"client_id": client_id, "scopes": scopes, "resource": resource}
        access = AccessToken(token=secrets.token_urlsafe(32), expires_at=None, **more)
        refresh = RefreshToken(token=secrets.token_urlsafe(32), **more)
        self.access[access.token] = access
        self.refresh[refresh.token] = refresh
        return OAuthToken(
            access_token=access.token,
            refresh_token=refresh.token,
            expires_in=3600,
            scope=" ".join(scopes),
        )


@contextmanager
def sdk_server() -> Iterator[tuple[str, OpenProvider]]:
    """Serve the tool `whoami`, and yield its URL."""
    provider = OpenProvider()
    with served_at(lambda base: _app(base, provider)) as url:
        yield url, provider


def _app(base: str, provider: OpenProvider) -> Any:
    server = MCPServer(
        "sdk",
        auth_server_provider=provider,
        auth=AuthSettings(
            issuer_url=AnyHttpUrl(base),
            resource_server_url=AnyHttpUrl(f"{base}/mcp"),
            validate_token_resource=True,
            required_scopes=["user"],
            client_registration_options=ClientRegistrationOptions(
                enabled=True, valid_scopes=["user"], default_scopes=["user"]
            ),
            revocation_options=RevocationOptions(enabled=True),
        ),
    )

    @server.tool()
    def whoami() -> str:
        token = get_access_token()
        return "nobody" if token is None else " ".join(token.scopes)

    return server.streamable_http_app()
