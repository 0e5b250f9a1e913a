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
        *(
            "adapters.openai.chat_stream",
            "adapters.aws.dynamodb.get",
            "adapters.aws.dynamodb.attribute_values",
        ),
        *("adapters.openai.embedder", "adapters.openai.faults", "adapters.openai.model"),
        *("adapters.pdf.reader", "adapters.embeddings.vector_rules", "jobs.job"),
        *("being.patrol.planning.answer_fields", "being.patrol.planning.model_answers"),
    ),
    "archives": (
        *(
            "adapters.files.backup_file",
            "being.memory.transfer.foreign_records",
            "being.memory.transfer.basic_memory",
        ),
        *(
            "being.memory.transfer.mem0",
            "being.memory.transfer.server_memory",
            "being.memory.transfer.portable_records",
        ),
        *("being.memory.transfer.export_file", "being.memory.transfer.record_shape"),
    ),
    "configs": (
        *(
            "firewall.wrap.config_tree",
            "firewall.wrap.proxied_entry",
            "firewall.wrap.proxied_url",
        ),
        *("firewall.wrap.redacted_entry", "firewall.wrap.json_tree", "firewall.wrap.toml_tree"),
        *("firewall.wrap.yaml_tree", "firewall.wrap.file_edit", "firewall.wrap.added_entry"),
    ),
    "content": (
        *(
            "firewall.content.injection.scan",
            "firewall.content.injection.tool_definitions",
            "firewall.content.injection.json_values",
        ),
        *(
            "firewall.content.injection.normalized_text",
            "firewall.content.injection.wording",
            "firewall.content.base64_media",
            "firewall.content.custom_patterns",
            "firewall.content.redaction",
        ),
        "firewall.content.secrets",
    ),
    "conversations": (
        *(
            "being.memory.transfer.transcripts.json_values",
            "being.memory.transfer.transcripts.gemini",
            "cli.hooks.transcripts",
            "cli.memory.transcript_files",
        ),
        *("being.memory.mirror.entry_page", "firewall.wrap.hooks.formats"),
    ),
    "endpoint": (
        *(
            "faces.evaluator.evaluation",
            "faces.aws_lambda.event_body",
            "faces.aws_lambda.mcp_http",
            "firewall.analysis.sample_call",
        ),
        *(
            "protocol.http.allowed_origins",
            "protocol.http.headers",
            "protocol.http.endpoint_rules",
        ),
    ),
    "guard": (
        *(
            "firewall.proxy.upstream.message_ids",
            "firewall.rules.arguments.arguments",
            "firewall.enforce.guard",
        ),
        *("firewall.enforce.json_edits", "firewall.enforce.message"),
    ),
    "lines": ("http_client.server_sent_events", "firewall.proxy.stdio.lines"),
    "media": (
        *(
            "being.orders.media.base64_text",
            "being.orders.media.decoded_content",
            "being.orders.media.incoming",
            "being.orders.media.file_names",
        ),
        *("being.orders.media.outgoing", "being.orders.media.media_types"),
    ),
    "logins": (
        "gateway.login.discovery",
        "gateway.login.challenge",
        "gateway.login.authorization",
    ),
    "oauth": (
        *(
            "protocol.http.server_address",
            "access.tokens.token_check",
            "access.oauth.client_metadata",
        ),
        *(
            "access.oauth.authorization_requests",
            "access.oauth.redirects",
            "access.oauth.server_metadata",
            "access.tokens.token_format",
        ),
        "web.forms",
    ),
    "offers": (
        *(
            "gateway.catalogue.merged_lists",
            "gateway.calls.external_server",
            "firewall.enforce.listed_tools",
            "firewall.enforce.mirrored_headers",
            "firewall.pins",
        ),
        *("firewall.enforce.json_edits", "sdk.schema.validation"),
    ),
    "passkeys": ("access.signin.cbor", "access.signin.cose", "access.signin.webauthn"),
    "policy": (
        *(
            "firewall.rules.arguments.base_folders",
            "firewall.policies.compiled",
            "firewall.rules.globs.glob",
            "firewall.policies.loader",
            "firewall.rules.arguments.readings",
        ),
    ),
    "sealed": (
        *(
            "adapters.files.vault",
            "adapters.sqlite.item_json",
            "adapters.items.item_query",
            "cli.policy.audit",
        ),
        *("firewall.audit.log", "firewall.analysis.replay", "protocol.dispatch.request_state"),
        "being.provenance.audited_calls",
    ),
    "strict_json": ("protocol.messages", "protocol.strict_json"),
    "texts": (
        *(
            "core.names",
            "adapters.embeddings.word_pieces",
            "http_client.public_addresses",
            "http_client.proxies",
            "cli.access.token",
        ),
        *(
            "firewall.proxy.http.forwarded_headers",
            "firewall.proxy.upstream.server_options",
            "http_client.address",
            "firewall.proxy.server_name",
        ),
        *(
            "gateway.qualified_names",
            "gateway.servers.references",
            "gateway.servers.config",
        ),
        *(
            "text.analysis",
            "being.memory.model.fields",
            "being.memory.store.targets",
        ),
        *(
            "being.orders.order.agent",
            "being.patrol.same_meaning.sentences",
            "being.patrol.same_meaning.same_note",
        ),
        *(
            "being.patrol.same_meaning.clause_order",
            "being.patrol.same_meaning.voice",
            "being.patrol.same_meaning.events",
            "being.patrol.same_meaning.other_orders",
            "being.patrol.planning.prompt_text",
            "sdk.tool_names",
        ),
        *("sdk.uri_template", "wiring.settings"),
    ),
}
"""The targets, and the parsers that the seeds of each reach."""

NOT_FUZZED: Mapping[str, str] = {
    "firewall.confine.packages": "what npm wrote; its tests give it packages that name other files",
    "being.memory.text.summary": "what this server wrote to its index; its tests give it others",
    "adapters.aws.s3_media_links": "a hash that linked_media has checked",
    "adapters.aws.container_credentials": "Lambda's own service on loopback",
    "adapters.client_documents": "takes an address that document_host has checked",
    "adapters.embeddings.onnx_folder": "a folder with a model, which the owner chose to run",
    "adapters.embeddings.multilingual_encoder": "files that ship with Nacre",
    "adapters.embeddings.tensor_file": "files that ship with Nacre",
    "adapters.openai.transcriber": "one text of an answer; its shapes stand in its tests",
    "adapters.vectors.point_file": "what this stack wrote; its tests read damaged files",
    "adapters.screening.process": "what this server's own helper process writes",
    "adapters.files.wrap_records": "what this program noted for its owner; damage is no record",
    "cli.policy.changed_tools": "what this store wrote",
    "cli.program_state": "what this program noted; anything else is an unknown program",
    "cli.servers.login": "an address that its owner has pasted; only the state in it counts",
    "cli.servers.login_listener": "a query on loopback; without the state it is no answer",
    "gateway.login.store": "what this store sealed",
    "cli.operate.client_checks": "a URL in a client's file, to connect to it; bounded in time",
    "cli.orders.chat": "what this server answered",
    "cli.hooks.hook_command": "an object for cli.hooks.hook_input, which conversations reads",
    "cli.hooks.server_call": "what a server answered that its owner chose; any fault is a log line",
    "cli.memory.export": "writes",
    "cli.memory.mirror_folder": "what this program noted",
    "cli.service.launchd": "what this program wrote",
    "cli.service.service": "an address that the command serve wrote down",
    "cli.memory.foreign_files": "hands files to what archives reads",
    "cli.serve.listening": "the owner's own option",
    "cli.operate.model_settings": "an address that Settings has checked",
    "cli.policy.init_command": "what this store wrote",
    "cli.policy.known_tools": "a file that the owner names, for strict rules that offers reads",
    "cli.servers.server": "what the owner typed, for strict_json",
    "console.audit.newest_records": "what this store wrote",
    "protocol.http.asgi": "the query, by the standard library, into a flat table",
    "console.export.routes": "writes",
    "protocol.http.connection_limit": "the address of a socket, by the standard library",
    "faces.stdio.log_details": "what this server answered",
    "web.oauth.routes": "the Basic header; tests/access/oauth sends what is none",
    "web.signin.passkey_site": "an address that protocol.http.server_address made",
    "gateway.catalogue.store": "what this store wrote",
    "gateway.servers.store": "what this store wrote",
    "firewall.wrap.wrapper": "what this program noted",
    "being.orders.sessions.store": "what this store wrote",
    "being.orders.order.toolbox": "arguments by the standard library, then sdk.schema.validation",
    "firewall.audit.entry": "what this store wrote",
    "firewall.policies.version_store": "what this store wrote",
    "firewall.enforce.large_results": "what this server's own helper process writes",
    "firewall.policies.stored_policy": "what this store wrote",
    "protocol.encoded_results": "what this server's own helper process writes",
    "being.tasks.stored_call": "what this store wrote",
    "firewall.limits.whole_results": "what this store wrote",
    "being.tasks.store": "what this store wrote",
    "being.tasks.task": "what this store wrote",
    "sdk.schema.shape": "arguments that sdk.schema.validation has checked; laws in tests/sdk",
    "sdk.schema.tool_schema": "type hints of the owner's own code",
    "wiring.stack_backups": "what this program noted",
    "wiring.laptop_backups": "settings of capturing, where any fault allows nothing",
    "wiring.this_machine": "the address of a server that its owner configured",
    "wiring.aws": "composes features, and no YAML",
    "wiring.laptop": "composes features, and no YAML",
    "wiring.proxy": "composes features, and no YAML",
    "being.memory.model.wordings": "what this store wrote",
    "being.memory.search.questions": "directions that ship with the package",
    "being.memory.search.recall_cards": "directions that ship with the package",
    "being.tools.writing_tools": "one argument, a list of ids, by the standard library",
    "firewall.enforce.large_calls": "what this server's own helper process writes",
    "protocol.value_pieces": "what this server's own helper process writes",
    "being.application": "tool definitions that ship with the package",
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
