"""The protocol versions that are served, and how one is chosen.

Modern versions carry everything in each request; legacy versions open with
`initialize`. Both are served on one URL without session ids.
"""

MODERN = "2026-07-28"  # its requests carry their metadata themselves
LEGACY_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
SUPPORTED_VERSIONS = (MODERN, *LEGACY_VERSIONS)
META_VERSION = "io.modelcontextprotocol/protocolVersion"
META_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
META_CLIENT = "io.modelcontextprotocol/clientInfo"
META_SERVER = "io.modelcontextprotocol/serverInfo"
META_SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
META_LOG_LEVEL = "io.modelcontextprotocol/logLevel"
TASKS = (
    "io.modelcontextprotocol/tasks"  # the extension, among the capabilities of client and server
)
# A request without a version header comes from a client older than the header.
UNDECLARED = "2025-03-26"


def negotiate(requested: object) -> str:
    """Return the version that `initialize` answers: the requested one, or the newest legacy one."""
    if isinstance(requested, str) and requested in LEGACY_VERSIONS:
        return requested
    return LEGACY_VERSIONS[0]
