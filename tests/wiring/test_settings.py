"""Settings, read from an environment once."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.core.errors import ConfigurationError
from nacre.wiring.settings import (
    VARIABLES,
    Secret,
    Settings,
    user_policy_file,
)
from nacre.wiring.user_folder import platform_folder

EMPTY = {"HOME": "/home/ann"}


def read(**variables: str) -> Settings:
    return Settings.from_environment({**EMPTY, **variables})


def test_an_empty_environment_gives_the_defaults() -> None:
    assert read() == Settings(data_folder="/home/ann/.local/share/nacre")


def test_every_field_has_its_variable_and_its_meaning() -> None:
    assert set(VARIABLES) == set(Settings._fields)
    assert all(variable.meaning.endswith(".") for variable in VARIABLES.values())
    assert len({variable.name for variable in VARIABLES.values()}) == len(VARIABLES)


def test_every_variable_arrives_in_its_field() -> None:
    given_values = {
        "data_folder": "/data",
        "log_level": "debug",
        "allowed_origins": "https://a.example, http://localhost:3000/ ,",
        "public_url": "https://Nacre.Example/",
        "embeddings": "onnx:/models/arctic",
        "embedding_base_url": "http://LOCALHOST:11434/V1/",
        "embedding_dimensions": "768",
        "llm_base_url": "https://Models.Example/v1",
        "llm_daily_tokens": "20000",
        "llm_daily_dollars": "0.50",
        "heard_facts": "20",
        "llm_prices": "0.4, 1.6",
        "order_name": " Clawdbot ",
        "media_links": "on",
        "transcribe_base_url": "http://LOCALHOST:8000/v1",
        "transcribe_price": "0.003",
        "qdrant_url": "https://Abc.Cloud.Example:6333",
        "tools": "Search",
        "visible_tools": "recall, mcp__notes__*",
        "private_networks": "10.0.0.0/16, fd00::/8",
        "trusted_proxies": "127.0.0.1, 10.0.0.0/16, ::1",
        "http_connections": "2000",
        "address_connections": "50",
        "search_files": "on",
        "resolves_tokens": "ON",
        "traces_disabled": "TRUE",
        "endpoint_url": "http://127.0.0.1:4566",
    }
    environment = {
        variable.name: given_values.get(field, f"value of {field}")
        for field, variable in VARIABLES.items()
    }

    assert Settings.from_environment(environment) == Settings(
        data_folder="/data",
        log_level="DEBUG",
        allowed_origins=("https://a.example", "http://localhost:3000"),
        public_url="https://nacre.example",
        embeddings="onnx:/models/arctic",
        embedding_model="value of embedding_model",
        embedding_base_url="http://localhost:11434/V1/",
        embedding_dimensions=768,
        embedding_api_key=Secret("value of embedding_api_key"),
        embedding_secret="value of embedding_secret",
        llm_base_url="https://models.example/v1",
        llm_model="value of llm_model",
        llm_api_key=Secret("value of llm_api_key"),
        llm_secret="value of llm_secret",
        llm_daily_tokens=20_000,
        heard_facts=20,
        llm_daily_dollars=0.5,
        llm_prices=(0.4, 1.6),
        order_name="Clawdbot",
        media_links=True,
        transcribe_model="value of transcribe_model",
        transcribe_base_url="http://localhost:8000/v1",
        transcribe_api_key=Secret("value of transcribe_api_key"),
        transcribe_secret="value of transcribe_secret",
        transcribe_price=0.003,
        qdrant_url="https://abc.cloud.example:6333",
        qdrant_api_key=Secret("value of qdrant_api_key"),
        qdrant_secret="value of qdrant_secret",
        policy_file="value of policy_file",
        servers_file="value of servers_file",
        tool_servers=("value of tool_servers",),
        read_tools=("value of read_tools",),
        tools="search",
        visible_tools=("recall", "mcp__notes__*"),
        private_networks=("10.0.0.0/16", "fd00::/8"),
        trusted_proxies=("127.0.0.1", "10.0.0.0/16", "::1"),
        https_proxy=Secret("value of https_proxy"),
        http_proxy=Secret("value of http_proxy"),
        all_proxy=Secret("value of all_proxy"),
        no_proxy="value of no_proxy",
        ca_file="value of ca_file",
        traces_endpoint="value of traces_endpoint",
        traces_full_endpoint="value of traces_full_endpoint",
        traces_protocol="value of traces_protocol",
        traces_exporter="value of traces_exporter",
        traces_disabled=True,
        front_secret=Secret("value of front_secret"),
        http_connections=2000,
        address_connections=50,
        secrets_path="value of secrets_path",
        stack="value of stack",
        search_files=True,
        resolves_tokens=True,
        tokens_table="value of tokens_table",
        data_table="value of data_table",
        queue_url="value of queue_url",
        bucket="value of bucket",
        key_arn="value of key_arn",
        region="value of region",
        access_key_id="value of access_key_id",
        secret_access_key=Secret("value of secret_access_key"),
        session_token=Secret("value of session_token"),
        credentials_token=Secret("value of credentials_token"),
        endpoint_url="http://127.0.0.1:4566",
    )


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("NACRE_LOG_LEVEL", "LOUD", "'LOUD' is not a level (DEBUG, INFO, WARNING or ERROR)"),
        ("NACRE_HOME", "data/nacre", "'data/nacre' is not an absolute path"),
        ("NACRE_PUBLIC_URL", "nacre.example", "'nacre.example' is not of the form https://HOST"),
        ("NACRE_PUBLIC_URL", "https://a/b", "'https://a/b' is not of the form https://HOST"),
        ("NACRE_PUBLIC_URL", "https://u@a", "'https://u@a' is not of the form https://HOST"),
        ("NACRE_ALLOWED_ORIGINS", "https://a, *", "'*' is not of the form https://HOST"),
        ("NACRE_PRIVATE_NETWORKS", "home", "'home' is not of the form 10.0.0.0/16"),
        ("NACRE_TRUSTED_PROXIES", "127.0.0.1,*", "'*' is not of the form 127.0.0.1 or"),
        ("NACRE_TRUSTED_PROXIES", "10.0.0.1/16", "'10.0.0.1/16' is not of the form 127.0.0.1 or"),
        ("NACRE_TRUSTED_PROXIES", "10.0.0.256", "'10.0.0.256' is not of the form 127.0.0.1 or"),
        ("NACRE_TRUSTED_PROXIES", "0.0.0.0/0", "'0.0.0.0/0' is not of the form 127.0.0.1 or"),
        ("NACRE_RESOLVE_TOKENS", "yes", "'yes' is neither on nor off"),
        ("NACRE_ALLOWED_ORIGINS", "null", "'null' is not of the form https://HOST"),
        ("NACRE_EMBEDDINGS", "onnx:", "'onnx:' is not one of builtin, builtin-best, "),
        ("NACRE_EMBEDDINGS", "Builtin", "'Builtin' is not one of builtin, builtin-best"),
        ("NACRE_LLM_DAILY_TOKENS", "many", "'many' is not a whole number; 0 sets no bound"),
        ("NACRE_LLM_DAILY_TOKENS", "-1", "'-1' is not a whole number; 0 sets no bound"),
        (
            "NACRE_LLM_DAILY_TOKENS",
            "9" * 99,
            f"'{'9' * 40}' is not a whole number; 0 sets no bound",
        ),
        ("NACRE_HEARD_FACTS", "on", "'on' is not a number from 0 to 999; 0 means none"),
        ("NACRE_ORDER_NAME", "a/b", "an order's name has"),
        ("NACRE_LLM_PRICES", "0.4", "'0.4' is not of the form 0.4,1.6"),
        ("NACRE_LLM_PRICES", "0.4,dear", "'dear' is not an amount such as 0.4"),
        ("NACRE_LLM_PRICES", "0.4,1e9", "'1e9' is not an amount such as 0.4"),
        ("NACRE_TRANSCRIBE_PRICE", "cheap", "'cheap' is not an amount such as 0.4"),
        ("NACRE_LLM_DAILY_DOLLARS", "-1", "'-1' is not an amount such as 0.4"),
        ("NACRE_LLM_DAILY_DOLLARS", ".", "'.' is not an amount such as 0.4"),
        ("NACRE_LLM_BASE_URL", "ftp://x", "'ftp://x' is not of the form https://HOST"),
        ("NACRE_EMBEDDING_DIMENSIONS", "0", "'0' is not a number from 8 to 65536"),
        ("NACRE_EMBEDDING_DIMENSIONS", "9" * 5000, f"'{'9' * 40}' is not a number from 8 to 65536"),
        ("NACRE_EMBEDDING_DIMENSIONS", "1.5", "'1.5' is not a number from 8 to 65536"),
        ("NACRE_EMBEDDING_BASE_URL", "api.example/v1", "'api.example/v1' is not of the form"),
        ("NACRE_EMBEDDING_BASE_URL", "https://a/v1?x", "'https://a/v1?x' is not of the form"),
        ("NACRE_EMBEDDING_BASE_URL", "https://u@a/v1", "'https://u@a' is not of the form"),
        ("AWS_ENDPOINT_URL", "ftp://a", "'ftp://a' is not of the form https://HOST"),
    ],
)
def test_a_bad_value_names_the_variable_the_value_and_what_is_allowed(
    variable: str, value: str, message: str
) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(f"{variable}: {message}")):
        read(**{variable: value})


def test_the_key_of_openai_is_for_openai_alone() -> None:
    assert read(OPENAI_API_KEY="k").embedding_api_key == Secret("k")
    assert read(OPENAI_API_KEY="k", NACRE_EMBEDDING_API_KEY="e").embedding_api_key == Secret("e")
    assert not read(
        OPENAI_API_KEY="k", NACRE_EMBEDDING_BASE_URL="https://other.example/v1"
    ).embedding_api_key


def test_the_language_model_has_the_same_rule() -> None:
    assert read(OPENAI_API_KEY="k").llm_api_key == Secret("k")
    assert read(OPENAI_API_KEY="k", NACRE_LLM_API_KEY="l").llm_api_key == Secret("l")
    assert not read(OPENAI_API_KEY="k", NACRE_LLM_BASE_URL="https://x.example/v1").llm_api_key


def test_a_bound_in_dollars_needs_prices() -> None:
    with pytest.raises(ConfigurationError, match="needs NACRE_LLM_PRICES"):
        read(NACRE_LLM_DAILY_DOLLARS="1")
    assert read(NACRE_LLM_DAILY_DOLLARS="0").llm_daily_dollars == 0
    assert read(NACRE_LLM_DAILY_TOKENS="0").llm_daily_tokens == 0


@given(st.sampled_from(sorted(v.name for v in VARIABLES.values())), st.text(max_size=40))
def test_any_value_is_taken_or_refused_by_name(variable: str, value: str) -> None:
    complaint = f"{variable}: "
    try:
        read(**{variable: value})
    except ConfigurationError as error:
        complaint = str(error)

    assert complaint.startswith(f"{variable}: ")


def test_blank_means_unset() -> None:
    blank = {variable.name: "  " for variable in VARIABLES.values()}

    assert read(**blank) == read()


def test_secrets_show_in_no_representation() -> None:
    settings = read(AWS_SECRET_ACCESS_KEY="sesame", AWS_SESSION_TOKEN="sesame")

    assert "sesame" not in f"{settings!r} {settings}"
    assert settings.secret_access_key.reveal() == "sesame"


def test_what_the_aws_wiring_needs_is_asked_for_by_name() -> None:
    with pytest.raises(ConfigurationError, match=r"^NACRE_DATA_TABLE, NACRE_QUEUE_URL: not set"):
        read(NACRE_TOKENS_TABLE="t").require("tokens_table", "data_table", "queue_url")


@pytest.mark.parametrize(
    ("platform", "environment", "folder"),
    [
        ("linux", {}, "/home/ann/.local/share/nacre"),
        ("linux", {"XDG_DATA_HOME": "/xdg"}, "/xdg/nacre"),
        ("linux", {"XDG_DATA_HOME": "relative"}, "/home/ann/.local/share/nacre"),
        ("darwin", {}, "/home/ann/Library/Application Support/Nacre"),
        (
            "win32",
            {"LOCALAPPDATA": r"C:\Users\Ann\AppData\Local"},
            r"C:\Users\Ann\AppData\Local\Nacre",
        ),
        ("win32", {"HOME": r"C:\Users\Ann"}, r"C:\Users\Ann\AppData\Local\Nacre"),
    ],
)
def test_data_live_in_the_user_data_folder_of_the_platform(
    platform: str, environment: dict[str, str], folder: str
) -> None:
    assert platform_folder(platform, {**EMPTY, **environment}) == folder


def test_settings_load_almost_nothing() -> None:
    code = "import nacre.wiring.settings, sys; print(*sys.modules)"
    package = Path(__file__).parents[2] / "shared"

    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=package
    ).stdout.split()

    assert not {"dataclasses", "inspect", "pathlib", "datetime", "boto3", "click"} & set(loaded)


def test_a_users_policy_stands_where_configuration_does() -> None:
    assert user_policy_file({"HOME": "/home/ann"}) == "/home/ann/.config/nacre/policy.toml"
    with_base = {"HOME": "/home/ann", "XDG_CONFIG_HOME": "/etc/ann"}
    assert user_policy_file(with_base) == "/etc/ann/nacre/policy.toml"
    relative = {"HOME": "/home/ann", "XDG_CONFIG_HOME": "conf"}
    assert user_policy_file(relative) == "/home/ann/.config/nacre/policy.toml"
