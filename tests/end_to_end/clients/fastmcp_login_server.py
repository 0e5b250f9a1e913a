"""A server of FastMCP that wants a login: `python fastmcp_login_server.py PORT`."""

import sys

from fastmcp import FastMCP
from fastmcp.server.auth.providers.in_memory import InMemoryOAuthProvider
from mcp.server.auth.settings import ClientRegistrationOptions, RevocationOptions

port = int(sys.argv[1])
server = FastMCP(
    "fastmcp",
    auth=InMemoryOAuthProvider(
        base_url=f"http://127.0.0.1:{port}",
        client_registration_options=ClientRegistrationOptions(
            enabled=True, valid_scopes=["read"], default_scopes=["read"]
        ),
        revocation_options=RevocationOptions(enabled=True),
        required_scopes=["read"],
    ),
)


def greet(name: str) -> str:
    return f"Hello, {name}!"


server.tool(greet)
server.run(transport="http", host="127.0.0.1", port=port, show_banner=False)
