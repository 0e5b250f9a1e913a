"""The ports of a stack, on the tables that the template declares."""

import gc
import json
import sys
from pathlib import Path
from typing import Any

import boto3
import pytest

from nacre.access.tokens.authentication import Gate
from nacre.cli.commands import run_commands
from nacre.core.errors import ConfigurationError, NotFoundError, UnavailableError
from nacre.faces.aws_lambda.token_authorizer import authorizer_handler
from nacre.wiring import aws
from nacre.wiring.aws import StackPorts
from nacre.wiring.compose import compose
from nacre.wiring.settings import Secret, Settings
from nacre.wiring.signed_requests import token_lookup
from tests.scaffolding.aws_stack import REGION, Stack, aws_stack
from tests.scaffolding.dynamodb_http import CREDENTIALS, dynamodb_over_http
from tests.scaffolding.http_front import Answered, front
from tests.wiring.deployed import MCP_URL, deployed
from tests.wiring.deployed import STACK as DEPLOYED

NOBODY = Settings(data_folder="")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no credentials of the machine into a test."""
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


# Lambda ends its environments without a word; nobody closes the authorizer's connection.
@pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
def test_a_token_made_on_a_stack_passes_the_authorizer_until_it_is_revoked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def nacre(*arguments: str) -> Any:
        assert run_commands([*arguments, "--stack", DEPLOYED, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    with deployed(monkeypatch), dynamodb_over_http(_deployed()) as front:
        being = nacre("being", "create", "Ann")
        token = nacre("token", "create", "--scope", "read-only")
        handle = authorizer_handler(token_lookup(_lambda_settings(_tokens_table(), front.url)))
        event = {"identitySource": [f"Bearer {token['token']}"]}
        before = handle(event, None)
        reads = front.requests
        nacre("token", "revoke", token["token_id"])
        after = handle(event, None)
        del handle
        gc.collect()

    assert before == {
        "isAuthorized": True,
        "context": {
            "auth": "ok",
            "kind": "brt",
            "token_id": token["token_id"],
            "being_id": being["being_id"],
            "scopes": "mcp:read",
            "client": "",
            "resource": "",
        },
    }
    assert reads == 1
    assert after == {"isAuthorized": True, "context": {"auth": "invalid"}}
    assert token["mcp_url"] == f"{MCP_URL}/{being['being_id']}"


@pytest.mark.security
@pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
def test_a_token_of_a_stack_is_bound_to_a_profile_of_the_pushed_policy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def nacre(*arguments: str, code: int = 0) -> Any:
        assert run_commands([*arguments, "--stack", DEPLOYED, "--json"]) == code
        written = capsys.readouterr()
        return written.err if code else json.loads(written.out)

    policy = tmp_path / "policy.toml"
    policy.write_text('[profile.home]\nservers = ["garden"]\n')
    with deployed(monkeypatch), dynamodb_over_http(_deployed()) as front:
        being = nacre("being", "create", "Ann")
        nacre("policy", "push", str(policy))
        wrong = nacre("token", "create", "--scope", "full", "--profile", "Home", code=3)
        token = nacre("token", "create", "--scope", "full", "--profile", "home")
        handle = authorizer_handler(token_lookup(_lambda_settings(_tokens_table(), front.url)))
        said: Any = handle({"identitySource": [f"Bearer {token['token']}"]}, None)
        del handle
        gc.collect()

    assert "has no profile 'Home'\nhint: it has home" in wrong
    assert said["context"]["profile"] == token["profile"] == "home"
    assert token["mcp_url"] == f"{MCP_URL}/home?being_id={being['being_id']}"


def test_functions_on_aws_share_their_signing_keys() -> None:
    with aws_stack() as stack:
        settings = NOBODY._replace(
            region=REGION, data_table=stack.ids["DataTable"], key_arn=stack.ids["NacreKey"]
        )

        ones, others = (compose(StackPorts(settings), settings).signing_keys for _ in range(2))
        assert ones() == others()
        assert len(ones().current) == 32


def test_the_mcp_function_reads_no_key_before_a_call_needs_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = NOBODY._replace(data_table="data", queue_url="queue", key_arn="key")
    monkeypatch.setitem(sys.modules, "boto3", None)

    application = compose(aws.mcp_ports(settings), settings).application

    assert len(application.surface.tools()) == 12


@pytest.mark.parametrize(
    ("build", "missing"),
    [
        (aws.mcp_ports, "NACRE_DATA_TABLE, NACRE_QUEUE_URL, NACRE_KMS_KEY: not set"),
        (aws.worker_ports, "NACRE_DATA_TABLE, NACRE_QUEUE_URL: not set"),
        (
            token_lookup,
            "NACRE_TOKENS_TABLE, AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY: not set",
        ),
    ],
)
def test_settings_that_a_function_needs_are_named(build: Any, missing: str) -> None:
    with pytest.raises(ConfigurationError, match=missing):
        build(NOBODY)


def test_tokens_are_looked_up_in_the_mcp_function_only_where_that_is_on() -> None:
    assert aws.mcp_gate(_lambda_settings("tokens", "http://127.0.0.1:9")) is None
    on = _lambda_settings("tokens", "http://127.0.0.1:9")._replace(resolves_tokens=True)
    assert isinstance(aws.mcp_gate(on), Gate)


def test_a_stack_that_is_not_there_is_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    with deployed(monkeypatch), pytest.raises(NotFoundError, match=f"no stack 'x' in {REGION}"):
        aws.open_stack("x", NOBODY._replace(region=REGION))


def test_a_stack_of_something_else_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    outputs = {"TokensTableName": {"Ref": "TokensTable"}}
    with (
        deployed(monkeypatch, outputs),
        pytest.raises(ConfigurationError, match="has no output DataTableName, KeyArn, McpUrl"),
    ):
        aws.open_stack(DEPLOYED, NOBODY._replace(region=REGION))


def test_missing_credentials_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")

    with pytest.raises(ConfigurationError, match="there are no AWS credentials"):
        aws.open_stack("x", NOBODY._replace(region=REGION))


def test_a_missing_region_is_told() -> None:
    with pytest.raises(ConfigurationError, match="check AWS_PROFILE and AWS_REGION"):
        aws.open_stack("x", NOBODY)


def test_an_unknown_profile_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")

    with pytest.raises(ConfigurationError, match="nobody"):
        aws.open_stack("x", NOBODY._replace(region=REGION))


def test_without_the_aws_parts_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)

    with pytest.raises(ConfigurationError, match=r"pip install '\.\[aws\]'"):
        aws.open_stack("x", NOBODY)


def _lambda_settings(table: str, endpoint_url: str) -> Settings:
    """Return the settings of Lambda's environment."""
    return Settings(
        data_folder="",
        tokens_table=table,
        region=REGION,
        access_key_id=CREDENTIALS.access_key_id,
        secret_access_key=Secret(CREDENTIALS.secret_access_key),
        session_token=Secret(CREDENTIALS.session_token),
        endpoint_url=endpoint_url,
    )


def _deployed() -> Stack:
    """Return clients of the fake AWS that `deployed` has made."""
    session = boto3.Session(region_name=REGION)
    return Stack(
        dynamodb=session.client("dynamodb"),
        sqs=session.client("sqs"),
        s3=session.client("s3"),
        kms=session.client("kms"),
        ids={},
    )


def _tokens_table() -> str:
    cloudformation = boto3.Session(region_name=REGION).client("cloudformation")
    outputs = cloudformation.describe_stacks(StackName=DEPLOYED)["Stacks"][0]["Outputs"]
    return str(next(o["OutputValue"] for o in outputs if o["OutputKey"] == "TokensTableName"))


def test_no_client_takes_an_answer_that_was_cut_off_for_an_empty_one() -> None:
    body = b'{"Item": {"pk": {"S": "a long item"}}}'
    with front(lambda _: Answered(200, (), body, sent=9)) as address:
        settings = Settings(
            data_folder="",
            tokens_table="tokens",
            data_table="data",
            region=REGION,
            endpoint_url=f"http://{address}",
        )
        with pytest.raises(UnavailableError, match="does not answer now"):
            compose(StackPorts(settings), settings).authority.beings.get("b")
