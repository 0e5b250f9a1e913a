"""All settings. They are read from the environment once, and only here.

The authorizer loads this module at every cold start, so it imports very little: a NamedTuple
instead of a dataclass saves a tenth of that start.
"""

import os
from collections.abc import Collection, Mapping
from typing import Literal, NamedTuple

from nacre.core.errors import ConfigurationError, InvalidInputError
from nacre.core.limits import (
    ADDRESS_CONNECTIONS,
    HTTP_CONNECTIONS,
    LLM_DAILY_TOKENS,
    TOOLS_ON_DEMAND,
    TRANSCRIBE_PRICE,
)
from nacre.wiring.user_folder import chosen_folder

# The builds, tests and benchmarks of this project read these.
_OF_BUILDS = (
    *("NACRE_ARCH", "NACRE_BENCH_", "NACRE_CLEAN_MACHINE", "NACRE_CRASHES", "NACRE_FUZZ_"),
    *("NACRE_LOAD_LEAK", "NACRE_PIPELINE", "NACRE_PROOFS", "NACRE_RACES", "NACRE_SWEPT_BEINGS"),
    "NACRE_TEST_",
)
# Names that people expect to be settings.
_OPTIONS = {"NACRE_PORT": "--port", "NACRE_HOST": "--host"}
_LEVELS = {
    "DEBUG": "DEBUG",
    "INFO": "INFO",
    "WARN": "WARNING",
    "WARNING": "WARNING",
    "ERROR": "ERROR",
}


class Secret:
    """A text that is hidden in representations and logs."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the text; do not keep it."""
        return self._text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return "Secret('***')" if self._text else "Secret('')"


class Variable(NamedTuple):
    """An environment variable, as the reference shows it."""

    name: str
    meaning: str
    default: str = ""


VARIABLES: Mapping[str, Variable] = {
    "data_folder": Variable(
        "NACRE_HOME",
        "Data folder of the laptop server; an absolute path.",
        "the platform's user data folder",
    ),
    "log_level": Variable(
        "NACRE_LOG_LEVEL",
        "Lowest level of the log lines to write: DEBUG, INFO, WARNING or ERROR.",
        "INFO",
    ),
    "allowed_origins": Variable(
        "NACRE_ALLOWED_ORIGINS",
        "Origins of web pages that may call the server, separated by commas, such as "
        "https://example.com.",
    ),
    "public_url": Variable(
        "NACRE_PUBLIC_URL",
        "Address under which others reach the server when it stands behind a proxy or a "
        "tunnel, such as https://nacre.example.com.",
    ),
    "embeddings": Variable(
        "NACRE_EMBEDDINGS",
        "Model that finds memories by meaning: builtin (a sentence encoder for sixteen languages), "
        "builtin-best (the same, and an encoder that is better for English), builtin-static (a "
        "table of English words), builtin-multilingual (a table of words in 101 languages), "
        "onnx:PATH (a folder with a sentence encoder), openai (an OpenAI-compatible endpoint) or "
        "none (search by words only).",
        "builtin",
    ),
    "embedding_model": Variable(
        "NACRE_EMBEDDING_MODEL", "Embedding model of the endpoint.", "text-embedding-3-small"
    ),
    "embedding_base_url": Variable(
        "NACRE_EMBEDDING_BASE_URL",
        "Base URL of the endpoint, such as http://localhost:11434/v1.",
        "https://api.openai.com/v1",
    ),
    "embedding_dimensions": Variable(
        "NACRE_EMBEDDING_DIMENSIONS",
        "Dimensions of the endpoint's vectors; required for models that are not OpenAI's.",
        "the model's published size",
    ),
    "embedding_api_key": Variable(
        "NACRE_EMBEDDING_API_KEY",
        "API key of the endpoint. Without it, OPENAI_API_KEY is used, but only for OpenAI itself.",
    ),
    "embedding_secret": Variable(
        "NACRE_EMBEDDING_SECRET",
        "On AWS: the parameter of Systems Manager that holds that key.",
    ),
    "llm_base_url": Variable(
        "NACRE_LLM_BASE_URL",
        "Base URL of the language model of orders and patrols, in OpenAI's protocol, such as "
        "http://localhost:11434/v1. Keys that begin with sk-ant- always go to Anthropic.",
        "https://api.openai.com/v1",
    ),
    "llm_model": Variable(
        "NACRE_LLM_MODEL",
        "Name of the language model.",
        "gpt-4.1-mini, for Anthropic claude-sonnet-4-6",
    ),
    "llm_api_key": Variable(
        "NACRE_LLM_API_KEY",
        "API key for orders and for patrols on request, where neither the call nor the Being has "
        "one (nacre llm-key set). Automatic patrols use the Being's key only. A server that needs "
        "no key accepts any text. Without it, OPENAI_API_KEY is used, but only for OpenAI itself.",
    ),
    "llm_secret": Variable(
        "NACRE_LLM_SECRET",
        "On AWS: the parameter of Systems Manager that holds that key.",
    ),
    "llm_daily_tokens": Variable(
        "NACRE_LLM_DAILY_TOKENS",
        "Tokens that each Being may spend on the language model in a day (UTC); 0 means no limit.",
        f"{LLM_DAILY_TOKENS}",
    ),
    "llm_daily_dollars": Variable(
        "NACRE_LLM_DAILY_DOLLARS",
        "Dollars that each Being may spend in a day, by NACRE_LLM_PRICES; 0 means no limit.",
        "0",
    ),
    "llm_prices": Variable(
        "NACRE_LLM_PRICES",
        "Dollars for a million input and output tokens of the model, such as 0.4,1.6; required for "
        "NACRE_LLM_DAILY_DOLLARS.",
    ),
    "heard_facts": Variable(
        "NACRE_HEARD_FACTS",
        "Facts a day that a patrol without a language model may keep from what a user says in "
        "messages, such as 20; 0 means none. Not set: 20 from captured conversations, and none "
        "from other messages.",
    ),
    "transcribe_model": Variable(
        "NACRE_TRANSCRIBE_MODEL",
        "Model that transcribes audio, such as whisper-1. Without one, the audio files of an order "
        "are only named.",
    ),
    "transcribe_base_url": Variable(
        "NACRE_TRANSCRIBE_BASE_URL",
        "Base URL of that model, in OpenAI's protocol, such as http://localhost:8000/v1.",
        "https://api.openai.com/v1",
    ),
    "transcribe_api_key": Variable(
        "NACRE_TRANSCRIBE_API_KEY",
        "API key of that endpoint. Without it, OPENAI_API_KEY is used, but only for OpenAI itself.",
    ),
    "transcribe_secret": Variable(
        "NACRE_TRANSCRIBE_SECRET",
        "On AWS: the parameter of Systems Manager that holds that key.",
    ),
    "transcribe_price": Variable(
        "NACRE_TRANSCRIBE_PRICE",
        "Dollars for a minute of audio; counts towards NACRE_LLM_DAILY_DOLLARS.",
        f"{TRANSCRIBE_PRICE}, as whisper-1 at OpenAI",
    ),
    "media_links": Variable(
        "NACRE_MEDIA_LINKS",
        "On AWS: on lets clients upload and download large media of orders by links to the bucket.",
        "off",
    ),
    "order_name": Variable(
        "NACRE_ORDER_NAME",
        "Name of the tool for orders, unless a Being has its own (nacre being order-name): order_ "
        "and this name in small letters, such as Clawdbot for order_clawdbot.",
        "being",
    ),
    "qdrant_url": Variable(
        "NACRE_QDRANT_URL",
        "Qdrant server for the search index, such as http://localhost:6333 or a cluster of Qdrant "
        "Cloud. Without one, the index is local, and on AWS the items are searched.",
    ),
    "qdrant_api_key": Variable("NACRE_QDRANT_API_KEY", "API key of that server."),
    "qdrant_secret": Variable(
        "NACRE_QDRANT_SECRET",
        "On AWS: the parameter of Systems Manager that holds that key.",
    ),
    "search_files": Variable(
        "NACRE_SEARCH_FILES",
        "On AWS without Qdrant: on keeps the search index of each Being in a file in the stack's "
        "bucket; off searches the items.",
        "off",
    ),
    "policy_file": Variable(
        "NACRE_POLICY",
        "Policy file that decides every call on this machine.",
        "~/.config/nacre/policy.toml when it is there, else the built-in policy",
    ),
    "servers_file": Variable(
        "NACRE_SERVERS",
        "File with other MCP servers to serve, in the mcpServers format of clients, in addition "
        "to those of 'nacre server add'.",
    ),
    "tool_servers": Variable(
        "NACRE_TOOL_SERVERS",
        "Your own tool servers, separated by commas: MODULE:NAME or PATH.py:NAME, in addition to "
        "those of installed packages (entry points nacre.tool_servers).",
    ),
    "read_tools": Variable(
        "NACRE_READ_TOOLS",
        "Tools of your own servers that read-only tokens may call because they change nothing, "
        "separated by commas, such as mcp__notes__find; * matches any characters.",
    ),
    "tools": Variable(
        "NACRE_TOOLS",
        "Which tools of other servers a list has: all, search (none but NACRE_VISIBLE_TOOLS; a "
        "model finds and calls the others through find_tools and call_tool), or auto (search when "
        f"there are more than {TOOLS_ON_DEMAND}).",
        "auto",
    ),
    "visible_tools": Variable(
        "NACRE_VISIBLE_TOOLS",
        "Tools that a list always has, separated by commas, such as "
        "recall,get_context,mcp__github__*; * matches any characters. none hides all.",
        "the Being's own tools",
    ),
    "private_networks": Variable(
        "NACRE_PRIVATE_NETWORKS",
        "On AWS: private networks in which other MCP servers may be, separated by commas, such as "
        "10.0.0.0/16.",
    ),
    "trusted_proxies": Variable(
        "NACRE_TRUSTED_PROXIES",
        "Proxies in front of `nacre serve`, by address or network, separated by commas, such as "
        "127.0.0.1,10.0.0.0/16. Their X-Forwarded-For headers name the clients in rate limits.",
    ),
    "https_proxy": Variable(
        "HTTPS_PROXY",
        "Proxy for connections to other machines over https, such as http://proxy.example:3128 or "
        "http://NAME:PASSWORD@HOST:PORT. It and the next three are also read in lower case, "
        "which wins. This machine is always reached directly.",
    ),
    "http_proxy": Variable("HTTP_PROXY", "Proxy for connections over http."),
    "all_proxy": Variable("ALL_PROXY", "Proxy for both, where theirs is not set."),
    "no_proxy": Variable(
        "NO_PROXY",
        "Hosts to reach directly, separated by commas: names with all below them, addresses, "
        "networks such as 10.0.0.0/8, each with or without a port; * means all.",
    ),
    "ca_file": Variable(
        "NACRE_CA_FILE",
        "PEM file with certificate authorities to trust besides the system's; SSL_CERT_FILE "
        "replaces those.",
    ),
    "traces_endpoint": Variable(
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "Receiver of traces over OTLP, such as http://localhost:4318; requires the extra otel. "
        "The SDK of OpenTelemetry reads its other variables too, such as OTEL_SERVICE_NAME, "
        "OTEL_EXPORTER_OTLP_HEADERS and OTEL_TRACES_SAMPLER.",
    ),
    "traces_full_endpoint": Variable(
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "The same, as the full URL for traces."
    ),
    "traces_protocol": Variable(
        "OTEL_EXPORTER_OTLP_PROTOCOL",
        "Protocol of that receiver; with any other, traces are off.",
        "http/protobuf",
    ),
    "traces_exporter": Variable(
        "OTEL_TRACES_EXPORTER", "none turns traces off, and otlp is the only exporter.", "otlp"
    ),
    "traces_disabled": Variable("OTEL_SDK_DISABLED", "true turns traces off.", "false"),
    "front_secret": Variable(
        "NACRE_FRONT_SECRET",
        "On AWS: what the front of a stack sends, so that the portal trusts it to name callers.",
    ),
    "http_connections": Variable(
        "NACRE_HTTP_CONNECTIONS",
        "Most connections at once of `nacre serve` and `nacre proxy --listen`; fewer if the "
        "process may not open so many files.",
        str(HTTP_CONNECTIONS),
    ),
    "address_connections": Variable(
        "NACRE_ADDRESS_CONNECTIONS",
        "Most connections of one address; this machine and NACRE_TRUSTED_PROXIES may have all.",
        str(ADDRESS_CONNECTIONS),
    ),
    "secrets_path": Variable(
        "NACRE_SECRETS", "On AWS: path of the stack's secrets in Systems Manager."
    ),
    "stack": Variable(
        "NACRE_STACK",
        "On AWS: the name of the stack, for its metrics. For `nacre serve --container`: the stack "
        "whose Beings it serves.",
    ),
    "resolves_tokens": Variable(
        "NACRE_RESOLVE_TOKENS",
        "on: the MCP function checks tokens itself, for a gateway without the authorizer; requires "
        "NACRE_TOKENS_TABLE.",
        "off",
    ),
    "tokens_table": Variable("NACRE_TOKENS_TABLE", "DynamoDB table of tokens and owners."),
    "data_table": Variable("NACRE_DATA_TABLE", "DynamoDB table of everything else."),
    "queue_url": Variable("NACRE_QUEUE_URL", "URL of the SQS FIFO queue."),
    "bucket": Variable("NACRE_BLOBS_BUCKET", "S3 bucket for large inputs and results."),
    "key_arn": Variable("NACRE_KMS_KEY", "ARN of the KMS key that wraps secrets."),
    "region": Variable("AWS_REGION", "AWS region; set by Lambda."),
    "access_key_id": Variable("AWS_ACCESS_KEY_ID", "AWS access key; set by Lambda."),
    "secret_access_key": Variable("AWS_SECRET_ACCESS_KEY", "AWS secret key; set by Lambda."),
    "session_token": Variable("AWS_SESSION_TOKEN", "AWS session token; set by Lambda."),
    "credentials_url": Variable(
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "URL of AWS credentials; set by Lambda with SnapStart.",
    ),
    "credentials_token": Variable(
        "AWS_CONTAINER_AUTHORIZATION_TOKEN", "Token for that URL; set by Lambda."
    ),
    "starts_from_snapshot": Variable(
        "AWS_LAMBDA_INITIALIZATION_TYPE", "snap-start with SnapStart; set by Lambda."
    ),
    "endpoint_url": Variable(
        "AWS_ENDPOINT_URL", "URL of all AWS services, for local stacks; http or https."
    ),
}
"""The variable of each field of Settings."""


class Settings(NamedTuple):
    """The settings of the environment; VARIABLES explains each field."""

    data_folder: str
    log_level: str = "INFO"
    allowed_origins: tuple[str, ...] = ()
    public_url: str = ""
    embeddings: str = "builtin"
    embedding_model: str = ""
    embedding_base_url: str = ""
    embedding_dimensions: int = 0
    embedding_api_key: Secret = Secret("")
    embedding_secret: str = ""
    llm_base_url: str = ""
    llm_model: str = ""
    llm_api_key: Secret = Secret("")
    llm_secret: str = ""
    llm_daily_tokens: int = LLM_DAILY_TOKENS
    llm_daily_dollars: float = 0.0
    llm_prices: tuple[float, float] = (0.0, 0.0)
    heard_facts: int | None = None
    transcribe_model: str = ""
    transcribe_base_url: str = ""
    transcribe_api_key: Secret = Secret("")
    transcribe_secret: str = ""
    transcribe_price: float = TRANSCRIBE_PRICE
    media_links: bool = False
    order_name: str = ""
    qdrant_url: str = ""
    qdrant_api_key: Secret = Secret("")
    qdrant_secret: str = ""
    search_files: bool = False
    policy_file: str = ""
    servers_file: str = ""
    tool_servers: tuple[str, ...] = ()
    read_tools: tuple[str, ...] = ()
    tools: Literal["auto", "search", "all"] = "auto"
    visible_tools: tuple[str, ...] | None = None
    private_networks: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    https_proxy: Secret = Secret("")
    http_proxy: Secret = Secret("")
    all_proxy: Secret = Secret("")
    no_proxy: str = ""
    ca_file: str = ""
    traces_endpoint: str = ""
    traces_full_endpoint: str = ""
    traces_protocol: str = ""
    traces_exporter: str = ""
    traces_disabled: bool = False
    front_secret: Secret = Secret("")
    http_connections: int = HTTP_CONNECTIONS
    address_connections: int = ADDRESS_CONNECTIONS
    secrets_path: str = ""
    stack: str = ""
    resolves_tokens: bool = False
    tokens_table: str = ""
    data_table: str = ""
    queue_url: str = ""
    bucket: str = ""
    key_arn: str = ""
    region: str = ""
    access_key_id: str = ""
    secret_access_key: Secret = Secret("")
    session_token: Secret = Secret("")
    credentials_url: str = ""
    credentials_token: Secret = Secret("")
    starts_from_snapshot: bool = False
    endpoint_url: str = ""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Settings":
        """Return the settings, or raise ConfigurationError naming the variable at fault."""

        def read(field: str) -> str:
            return environment.get(VARIABLES[field].name, "").strip()

        # A web server puts a caller's header Proxy into HTTP_PROXY of its CGI programs.
        is_cgi = "REQUEST_METHOD" in environment
        return cls(
            data_folder=chosen_folder(read("data_folder"), environment),
            log_level=_log_level(read("log_level")),
            allowed_origins=_origins(read("allowed_origins")),
            public_url=_origin("NACRE_PUBLIC_URL", read("public_url")),
            embeddings=_embeddings(read("embeddings")),
            embedding_model=read("embedding_model"),
            embedding_base_url=_url("NACRE_EMBEDDING_BASE_URL", read("embedding_base_url")),
            embedding_dimensions=_dimensions(read("embedding_dimensions")),
            embedding_api_key=Secret(
                read("embedding_api_key") or _openai_key(environment, "embedding_base_url")
            ),
            embedding_secret=read("embedding_secret"),
            llm_base_url=_url("NACRE_LLM_BASE_URL", read("llm_base_url")),
            llm_model=read("llm_model"),
            llm_api_key=Secret(read("llm_api_key") or _openai_key(environment, "llm_base_url")),
            llm_secret=read("llm_secret"),
            llm_daily_tokens=_tokens(read("llm_daily_tokens")),
            llm_daily_dollars=_dollars(read("llm_daily_dollars"), read("llm_prices")),
            llm_prices=_prices(read("llm_prices")),
            heard_facts=_facts(read("heard_facts")),
            transcribe_model=read("transcribe_model"),
            transcribe_base_url=_url("NACRE_TRANSCRIBE_BASE_URL", read("transcribe_base_url")),
            transcribe_api_key=Secret(
                read("transcribe_api_key") or _openai_key(environment, "transcribe_base_url")
            ),
            transcribe_secret=read("transcribe_secret"),
            transcribe_price=_price(read("transcribe_price")),
            order_name=_order_name(read("order_name")),
            qdrant_url=_url("NACRE_QDRANT_URL", read("qdrant_url")),
            qdrant_api_key=Secret(read("qdrant_api_key")),
            qdrant_secret=read("qdrant_secret"),
            search_files=_switch("NACRE_SEARCH_FILES", read("search_files")),
            policy_file=read("policy_file"),
            servers_file=read("servers_file"),
            tool_servers=_listed(read("tool_servers")),
            read_tools=_listed(read("read_tools")),
            tools=_tools(read("tools")),
            visible_tools=_visible_tools(read("visible_tools")),
            private_networks=_networks("NACRE_PRIVATE_NETWORKS", read("private_networks")),
            trusted_proxies=_proxies("NACRE_TRUSTED_PROXIES", read("trusted_proxies")),
            https_proxy=Secret(_proxy_variable(environment, "https_proxy")),
            http_proxy=Secret("" if is_cgi else _proxy_variable(environment, "http_proxy")),
            all_proxy=Secret(_proxy_variable(environment, "all_proxy")),
            no_proxy=_proxy_variable(environment, "no_proxy"),
            ca_file=read("ca_file"),
            traces_endpoint=read("traces_endpoint"),
            traces_full_endpoint=read("traces_full_endpoint"),
            traces_protocol=read("traces_protocol"),
            traces_exporter=read("traces_exporter"),
            traces_disabled=read("traces_disabled").lower() == "true",
            front_secret=Secret(read("front_secret")),
            http_connections=_count("http_connections", read("http_connections")),
            address_connections=_count("address_connections", read("address_connections")),
            secrets_path=read("secrets_path"),
            stack=read("stack"),
            media_links=_switch("NACRE_MEDIA_LINKS", read("media_links")),
            resolves_tokens=_switch("NACRE_RESOLVE_TOKENS", read("resolves_tokens")),
            tokens_table=read("tokens_table"),
            data_table=read("data_table"),
            queue_url=read("queue_url"),
            bucket=read("bucket"),
            key_arn=read("key_arn"),
            region=read("region") or environment.get("AWS_DEFAULT_REGION", "").strip(),
            access_key_id=read("access_key_id"),
            secret_access_key=Secret(read("secret_access_key")),
            session_token=Secret(read("session_token")),
            # Keys that are there come first, as with the SDKs.
            credentials_url="" if read("access_key_id") else read("credentials_url"),
            credentials_token=Secret(read("credentials_token")),
            starts_from_snapshot=read("starts_from_snapshot") == "snap-start",
            endpoint_url=_origin("AWS_ENDPOINT_URL", read("endpoint_url")),
        )

    @property
    def sends_traces(self) -> bool:
        """Tell whether traces have a receiver, and are not turned off."""
        has_receiver = bool(self.traces_endpoint or self.traces_full_endpoint)
        return has_receiver and not self.traces_disabled and self.traces_exporter in ("", "otlp")

    @property
    def signing_fields(self) -> tuple[str, ...]:
        """Return the fields without which no request can be signed."""
        if self.credentials_url:
            return ("credentials_url",)
        return ("access_key_id", "secret_access_key")

    def require(self, *fields: str) -> None:
        """Raise ConfigurationError naming every one of these fields that is empty."""
        missing = [VARIABLES[field].name for field in fields if not getattr(self, field)]
        if missing:
            raise ConfigurationError(
                f"{', '.join(missing)}: not set; on AWS the template sets it, "
                "on a laptop give --stack NAME"
            )


def with_variables(
    changes: Mapping[str, str], environment: Mapping[str, str] = os.environ
) -> Settings:
    """Return the settings of the environment with some variables changed."""
    return Settings.from_environment({**environment, **changes})


def variable(name: str) -> str | None:
    """Return a variable that the owner of this machine names, None when it is not set."""
    return os.environ.get(name)


def user_policy_file(environment: Mapping[str, str] = os.environ) -> str:
    """Return the path of a user's policy if NACRE_POLICY names none."""
    home = environment.get("HOME") or os.path.expanduser("~")  # noqa: PTH111  no pathlib here
    base = environment.get("XDG_CONFIG_HOME", "")
    return f"{base if base.startswith('/') else home + '/.config'}/nacre/policy.toml"


def _log_level(value: str) -> str:
    if not value:
        return "INFO"
    try:
        return _LEVELS[value.upper()]
    except KeyError:
        raise ConfigurationError(
            f"NACRE_LOG_LEVEL: {value[:40]!r} is not a level (DEBUG, INFO, WARNING or ERROR)"
        ) from None


def _proxy_variable(environment: Mapping[str, str], field: str) -> str:
    """Return the variable in lower case if it is there, even if empty, else in upper case."""
    return environment.get(field, environment.get(field.upper(), "")).strip()


def _switch(variable: str, value: str) -> bool:
    if value.lower() not in ("", "on", "off"):
        raise ConfigurationError(f"{variable}: {value[:40]!r} is neither on nor off")
    return value.lower() == "on"


_EMBEDDINGS = (
    *("builtin", "builtin-best", "builtin-static", "builtin-multilingual"),
    *("openai", "none"),
)


def _embeddings(value: str) -> str:
    if value in _EMBEDDINGS:
        return value
    if value.startswith("onnx:") and len(value) > len("onnx:"):
        return value
    if value:
        raise ConfigurationError(
            f"NACRE_EMBEDDINGS: {value[:80]!r} is not one of {', '.join(_EMBEDDINGS)}, onnx:PATH"
        )
    return "builtin"


def _dimensions(value: str) -> int:
    if not value:
        return 0
    if not (value.isascii() and value.isdecimal()) or not 8 <= int(value[:9]) <= 65536:
        raise ConfigurationError(
            f"NACRE_EMBEDDING_DIMENSIONS: {value[:40]!r} is not a number from 8 to 65536"
        )
    return int(value)


def _tokens(value: str) -> int:
    if not value:
        return LLM_DAILY_TOKENS
    if not (value.isascii() and value.isdecimal() and len(value) <= 12):
        raise ConfigurationError(
            f"NACRE_LLM_DAILY_TOKENS: {value[:40]!r} is not a whole number; 0 sets no bound"
        )
    return int(value)


def _facts(value: str) -> int | None:
    if not value:
        return None
    if not (value.isascii() and value.isdecimal() and len(value) <= 3):
        raise ConfigurationError(
            f"NACRE_HEARD_FACTS: {value[:40]!r} is not a number from 0 to 999; 0 means none"
        )
    return int(value)


def _count(field: str, value: str) -> int:
    variable = VARIABLES[field]
    if not value:
        return int(variable.default)
    if not (value.isascii() and value.isdecimal()) or not 1 <= int(value[:9]) <= 1_000_000:
        raise ConfigurationError(
            f"{variable.name}: {value[:40]!r} is not a number from 1 to 1000000"
        )
    return int(value)


def _prices(value: str) -> tuple[float, float]:
    if not value:
        return 0.0, 0.0
    read, comma, output = value.partition(",")
    if not comma:
        raise ConfigurationError(f"NACRE_LLM_PRICES: {value[:40]!r} is not of the form 0.4,1.6")
    return _amount("NACRE_LLM_PRICES", read), _amount("NACRE_LLM_PRICES", output)


def _dollars(value: str, prices: str) -> float:
    dollars = _amount("NACRE_LLM_DAILY_DOLLARS", value) if value else 0.0
    if dollars and not any(_prices(prices)):
        raise ConfigurationError(
            "NACRE_LLM_DAILY_DOLLARS: needs NACRE_LLM_PRICES, what the model costs in dollars for "
            "a million tokens read and written, such as 0.4,1.6"
        )
    return dollars


def _price(value: str) -> float:
    return _amount("NACRE_TRANSCRIBE_PRICE", value) if value else TRANSCRIBE_PRICE


def _amount(variable: str, value: str) -> float:
    """Return an amount of dollars, written in digits with at most one point."""
    digits = value.strip()
    plain = digits.replace(".", "", 1)
    if not (plain.isascii() and plain.isdecimal() and len(digits) <= 12):
        raise ConfigurationError(f"{variable}: {digits[:40]!r} is not an amount such as 0.4")
    return float(digits)


def _order_name(value: str) -> str:
    if not value:
        return ""
    from nacre.core.names import checked_order_name

    try:
        return checked_order_name(value)
    except InvalidInputError as error:
        raise ConfigurationError(f"NACRE_ORDER_NAME: {error}") from None


def _openai_key(environment: Mapping[str, str], base_url: str) -> str:
    """Return OpenAI's key, unless texts go to another endpoint, which must not see it."""
    if environment.get(VARIABLES[base_url].name, "").strip():
        return ""
    return environment.get("OPENAI_API_KEY", "").strip()


def _listed(value: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in value.split(",") if part.strip())


def _tools(value: str) -> Literal["auto", "search", "all"]:
    match value.lower():
        case "" | "auto":
            return "auto"
        case "search":
            return "search"
        case "all":
            return "all"
        case _:
            raise ConfigurationError(f"NACRE_TOOLS: {value[:40]!r} is not auto, search or all")


def _visible_tools(value: str) -> tuple[str, ...] | None:
    if not value:
        return None
    return () if value.lower() == "none" else _listed(value)


def _networks(variable: str, value: str) -> tuple[str, ...]:
    networks = _listed(value)
    for text in networks:
        address, _, bits = text.partition("/")
        if not bits.isdecimal() or not set(address) <= set("0123456789abcdefABCDEF.:"):
            raise ConfigurationError(f"{variable}: {text[:60]!r} is not of the form 10.0.0.0/16")
    return networks


def _proxies(variable: str, value: str) -> tuple[str, ...]:
    if not value:
        return ()
    from ipaddress import ip_network

    for text in (proxies := _listed(value)):
        try:
            # If all networks were trusted, every caller could claim any address.
            fits = ip_network(text).prefixlen > 0
        except ValueError:  # also 10.0.0.1/16, which the server would never match
            fits = False
        if not fits:
            raise ConfigurationError(
                f"{variable}: {text[:60]!r} is not of the form 127.0.0.1 or 10.0.0.0/16"
            )
    return proxies


def _url(variable: str, value: str) -> str:
    """Return `scheme://host[:port][/path]`, the path as it was given."""
    scheme, separator, address = value.partition("://")
    host, slash, path = address.partition("/")
    if not value:
        return ""
    if not path.isascii() or not path.isprintable() or set(path) & set("?#\\ "):
        raise ConfigurationError(f"{variable}: {value[:80]!r} is not of the form https://HOST/PATH")
    return _origin(variable, f"{scheme}{separator}{host}") + (f"/{path}" if slash else "")


def _origins(value: str) -> tuple[str, ...]:
    names = (name.strip() for name in value.split(","))
    return tuple(_origin("NACRE_ALLOWED_ORIGINS", name) for name in names if name)


def _origin(variable: str, value: str) -> str:
    """Return `scheme://host[:port]`, as a browser sends it."""
    if not value:
        return ""
    scheme, separator, host = value.rstrip("/").partition("://")
    unfit = set(host) & set("/?#@\\ ") or not host.isascii() or not host.isprintable()
    if scheme.lower() not in ("http", "https") or not separator or not host or unfit:
        raise ConfigurationError(
            f"{variable}: {value[:80]!r} is not of the form https://HOST or http://HOST:PORT"
        )
    return f"{scheme}://{host}".lower()


def unknown_variables(
    environment: Mapping[str, str] = os.environ, *, used: Collection[str] = ()
) -> list[tuple[str, str]]:
    """Return variables that look like settings and have no effect, each with advice.

    `used` are names that options of the command read.
    """
    names = {variable.name for variable in VARIABLES.values()}
    unknown = sorted(
        name
        for name in environment
        if name.upper().startswith("NACRE_")
        and not name.startswith(_OF_BUILDS)
        and name not in names
        and name not in used
    )
    return [(name, _advice(name.upper(), names)) for name in unknown]


def _advice(name: str, names: Collection[str]) -> str:
    from difflib import get_close_matches

    if option := _OPTIONS.get(name):
        return f"use the option {option} of 'nacre serve'"
    similar = get_close_matches(name, names, 1, 0.75)
    return f"did you mean {similar[0]}?" if similar else "see docs/reference/settings.md"


def unknown_settings(*, used: Collection[str] = ()) -> list[str]:
    """Return a warning for each variable that looks like a setting and has no effect."""
    return [
        f"{name} is not a setting, so it has no effect; {advice}"
        for name, advice in unknown_variables(used=used)
    ]


def service_variables(
    environment: Mapping[str, str] = os.environ,
) -> tuple[dict[str, str], list[str]]:
    """Return the variables for a service of this user, and the names of secrets that it lacks.

    PATH is included, because the system's own rarely has the programs of other servers.
    """
    defaults = Settings._field_defaults
    names = {variable.name: defaults.get(field) for field, variable in VARIABLES.items()}
    for field in ("https_proxy", "http_proxy", "all_proxy", "no_proxy"):
        value = _proxy_variable(environment, field)
        environment = {**environment, field.upper(): value}
        if "@" not in value:  # else it holds credentials
            names[field.upper()] = ""
    chosen = {
        name: environment[name]
        for name in ("PATH", "XDG_CONFIG_HOME", "SSL_CERT_FILE", *names)
        if environment.get(name)
        and not isinstance(names.get(name), Secret)
        and not name.startswith("AWS_")
        and name != VARIABLES["data_folder"].name  # the command line names the folder
    }
    secrets = [name for name, default in names.items() if isinstance(default, Secret)]
    present = [name for name in (*secrets, "OPENAI_API_KEY") if environment.get(name)]
    return chosen, [name for name in present if not name.startswith("AWS_")]


def is_on_path(environment: Mapping[str, str] = os.environ) -> bool:
    """Tell whether a shell finds the command `nacre`."""
    folders = [folder for folder in environment.get("PATH", "").split(os.pathsep) if folder]
    # pathlib and shutil are not loaded here.
    return any(os.access(f"{folder}/nacre", os.X_OK) for folder in folders)
