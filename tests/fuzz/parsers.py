"""Which modules read bytes from outside, and which target gives each of them what nobody would.

A module that calls one of READS is a parser, or says below why it is none.
"""

import ast
from collections.abc import Mapping
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "shared" / "nacre"
READS = frozenset(
    (
        *("loads", "JSONDecoder", "raw_decode", "strict_json.parse", "dialect.parse"),
        *("b64decode", "urlsafe_b64decode", "a2b_base64", "fromhex", "unquote", "unquote_plus"),
        *("urlsplit", "urlparse", "urljoin", "parse_qs", "parse_qsl", "ip_address", "IPv6Address"),
        *("compose", "tarfile.open", "GzipFile", "decompress", "unescape"),
    )
)

TARGETS: Mapping[str, tuple[str, ...]] = {
    "answers": (
        *("adapters.chat_stream", "adapters.dynamodb_get", "adapters.dynamodb_values"),
        *("adapters.openai_embedder", "adapters.openai_faults", "adapters.openai_model"),
        *("adapters.pypdf_reader", "adapters.vector_rules", "jobs.job"),
        *("patrol.answer_fields", "patrol.answers"),
    ),
    "archives": (
        *("adapters.backup_file", "memory.foreign", "memory.from_basic_memory"),
        *("memory.from_mem0", "memory.from_server_memory", "memory.portable"),
        *("memory.portable_file", "memory.record_shape"),
    ),
    "configs": (
        *("gateway.config_tree", "gateway.entries", "gateway.proxied", "gateway.proxied_url"),
        *("gateway.shown_entry", "gateway.spans_json", "gateway.spans_toml"),
        *("gateway.spans_yaml", "gateway.wrapping"),
    ),
    "content": (
        *("policy.injection", "policy.injection_definitions", "policy.injection_places"),
        *(
            "policy.injection_text",
            "policy.injection_wording",
            "policy.media",
            "policy.own_patterns",
            "policy.redaction",
        ),
        "policy.secrets",
    ),
    "endpoint": (
        *("faces.evaluating", "faces.event_body", "faces.lambda_events", "policy.call"),
        *("protocol.declared_version", "protocol.fences", "protocol.headers", "protocol.http"),
    ),
    "guard": (
        *("faces.http_upstream_messages", "policy.arguments", "policy.guard"),
        *("policy.rewriting", "policy.wire"),
    ),
    "lines": ("faces.http_upstream_events", "gateway.lines"),
    "media": (
        *("orders.media_base64", "orders.media_content", "orders.media_in", "orders.media_names"),
        *("orders.media_out", "orders.media_types"),
    ),
    "oauth": (
        *("access.addresses", "access.admission", "access.client_metadata"),
        *("access.oauth_requests", "access.redirects", "access.resources", "access.tokens"),
        "faces.forms",
    ),
    "offers": (
        *("gateway.lists", "gateway.sound", "policy.listing", "policy.mirrors", "policy.pins"),
        *("policy.spans", "tools.validation"),
    ),
    "passkeys": ("access.cbor", "access.cose", "access.webauthn"),
    "policy": (
        *("policy.bases", "policy.compiled", "policy.glob", "policy.loading", "policy.readings"),
    ),
    "sealed": (
        *("adapters.file_vault", "adapters.item_json", "adapters.item_query", "cli.audit"),
        *("policy.audit", "policy.replay", "protocol.request_state"),
    ),
    "strict_json": ("protocol.messages", "protocol.strict_json"),
    "texts": (
        *("access.naming", "adapters.bert_words", "adapters.public_addresses", "cli.duration"),
        *("faces.http_proxy_headers", "faces.http_upstream_url", "gateway.command_name"),
        *("gateway.names", "gateway.references", "gateway.server_config", "gateway.url_name"),
        *("gateway.written_secrets", "memory.analysis", "memory.fields", "memory.targets"),
        *("orders.reasoning", "patrol.compare.reading", "patrol.compare.same"),
        *("patrol.compare.turning", "patrol.compare.voice", "patrol.recalled", "tools.names"),
        *("tools.uri_template", "wiring.settings"),
    ),
}
"""The targets, and the parsers that the seeds of each reach."""

NOT_FUZZED: Mapping[str, str] = {
    "adapters.container_credentials": "Lambda's own service on loopback",
    "adapters.https_client_documents": "takes an address that document_host has checked",
    "adapters.onnx_folder": "a folder with a model, which the owner chose to run",
    "adapters.openai_transcriber": "one text of an answer; its shapes stand in its tests",
    "adapters.screening_process": "what this server's own helper process writes",
    "adapters.wrap_records": "what this program noted for its owner; damage is no record",
    "cli.approve": "what this store wrote",
    "cli.chat": "what this server answered",
    "cli.checks": "an address that Settings has checked",
    "cli.export": "writes",
    "cli.foreign_files": "hands files to what archives reads",
    "cli.listening": "the owner's own option",
    "cli.model_settings": "an address that Settings has checked",
    "cli.policy_starting": "what this store wrote",
    "cli.policy_tools": "a file that the owner names, for strict rules that offers reads",
    "cli.server": "what the owner typed, for strict_json",
    "console.trail": "what this store wrote",
    "faces.asgi": "the query, by the standard library, into a flat table",
    "faces.console_export": "writes",
    "faces.crowd": "the address of a socket, by the standard library",
    "faces.details": "what this server answered",
    "faces.oauth_routes": "the Basic header; tests/access/oauth sends what is none",
    "faces.passkey_site": "an address that access.addresses made",
    "gateway.catalogue": "what this store wrote",
    "gateway.server_store": "what this store wrote",
    "gateway.wrapper": "what this program noted",
    "orders.agent": "asks whether arguments are JSON, by the standard library",
    "orders.session_store": "what this store wrote",
    "orders.toolbox": "arguments by the standard library, then tools.validation",
    "policy.audit_entry": "what this store wrote",
    "policy.documents": "what this store wrote",
    "policy.large": "what this server's own helper process writes",
    "policy.stored": "what this store wrote",
    "protocol.spelled": "what this server's own helper process writes",
    "tasks.kept_call": "what this store wrote",
    "tasks.store": "what this store wrote",
    "tasks.task": "what this store wrote",
    "tools.scalars": "arguments that tools.validation has checked; laws in tests/tools",
    "tools.schema": "type hints of the owner's own code",
    "wiring.stack_backups": "what this program noted",
    "wiring.this_machine": "the address of a server that its owner configured",
}
"""Those that have no target, and why."""


def path_of(module: str) -> Path:
    """Return where a module of the tables is."""
    return PACKAGE.joinpath(*module.split(".")).with_suffix(".py")


def readers() -> set[str]:
    """Return the modules that call something which takes bytes or text apart."""
    return {
        ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        for path in PACKAGE.rglob("*.py")
        if _reads(path.read_text())
    }


def _reads(source: str) -> bool:
    if not any(name in source for name in READS):  # most, and trees take long to make
        return False
    return any(_name(node) in READS for node in ast.walk(ast.parse(source)))


def _name(node: ast.AST) -> str:
    match node:
        case ast.Call(func=ast.Name(id=name)):
            return name
        case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=name)):
            return name if name in READS else f"{owner}.{name}"
        case ast.Call(func=ast.Attribute(attr=name)):
            return name
        case _:
            return ""
