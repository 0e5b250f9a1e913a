"""`server.json`: what the MCP registry knows of a release."""

import hashlib
from pathlib import Path
from typing import Any

from infra.release.tree import Release

SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
DESCRIPTION = "A lasting memory for AI agents, orders, and a policy firewall for their tools"
_FOLDER_VARIABLE = {
    "name": "NACRE_HOME",
    "description": "Absolute path of the data folder; without it, the user's own",
    "format": "filepath",
}


def server_json(release: Release, bundle: Path) -> dict[str, Any]:
    """Return the document; the registry checks the digest of the bundle."""
    stdio = {"type": "stdio"}
    digest = hashlib.sha256(bundle.read_bytes()).hexdigest()
    return {
        "$schema": SCHEMA,
        "name": release.server_name,
        "title": "Nacre",
        "description": DESCRIPTION,
        "version": release.version,
        "repository": {"url": release.url, "source": "github"},
        "packages": [
            {
                "registryType": "pypi",
                "registryBaseUrl": "https://pypi.org",
                "identifier": "nacre-mcp",
                "version": release.version,
                "runtimeHint": "uvx",
                "transport": stdio,
                "packageArguments": [{"type": "positional", "value": "mcp-server"}],
                "environmentVariables": [_FOLDER_VARIABLE],
            },
            {
                "registryType": "mcpb",
                "identifier": release.file_url(bundle.name),
                "fileSha256": digest,
                "transport": stdio,
            },
            {
                "registryType": "oci",
                "identifier": release.image,
                "runtimeHint": "docker",
                "transport": {"type": "streamable-http", "url": "http://127.0.0.1:8000/mcp"},
                "runtimeArguments": [
                    {"type": "named", "name": "-p", "value": "127.0.0.1:8000:8000"},
                    {"type": "named", "name": "-v", "value": "nacre:/data"},
                ],
            },
        ],
    }
