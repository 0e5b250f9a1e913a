"""The handlers in Lambda's own runtime client, on the built layers, with events of AWS."""

import json
import tomllib
from pathlib import Path
from shutil import copy, copytree
from typing import Any

import pytest

from nacre.adapters.tool_servers import GROUP
from nacre.core.clock import system_clock
from nacre.firewall.policies.version_store import PolicyVersions
from tests.functions.conftest import Store
from tests.functions.runtime_api import Function, FunctionError
from tests.infra.declared import FUNCTIONS, ROOT
from tests.scaffolding.lambda_functions import deployed, runtime_python

pytestmark = pytest.mark.slow


def recorded(name: str) -> dict[str, Any]:
    """Return an event as AWS sends it."""
    event: dict[str, Any] = json.loads((ROOT / "infra" / "events" / f"{name}.json").read_text())
    return event


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function_starts_and_says_nothing(name: str) -> None:
    with deployed(name) as function:
        assert function.start.peak_kb < 64 * 1024
        assert function.logs == ""


@pytest.mark.parametrize("shape", ["http_api_mcp", "rest_api_mcp"])
def test_the_mcp_function_answers_behind_both_kinds_of_api(shape: str) -> None:
    with deployed("McpHttpFunction") as function:
        answer = function.invoke(recorded(shape))
        logs = [json.loads(line) for line in function.logs.splitlines()]

    assert answer["statusCode"] == 200
    assert json.loads(answer["body"]) == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert [(line["event"], line["status"]) for line in logs] == [("mcp", 200)]


def test_a_function_url_is_refused_unless_the_function_looks_tokens_up_itself() -> None:
    with deployed("McpHttpFunction") as function:
        refused = function.invoke(recorded("function_url_mcp"))
    looking = {"NACRE_RESOLVE_TOKENS": "on", "NACRE_TOKENS_TABLE": "tokens"}
    with deployed("McpHttpFunction", variables=looking) as function:
        unknown = function.invoke(recorded("function_url_mcp"))

    assert (refused["statusCode"], unknown["statusCode"]) == (401, 401)
    assert "invalid_token" in unknown["headers"]["www-authenticate"]
    assert "invalid_token" not in refused["headers"]["www-authenticate"]


def test_a_tool_runs_with_the_schema_library_of_its_layer(store: Store) -> None:
    event = recorded("http_api_mcp")
    call = {"name": "get_current_time", "arguments": {"timezone": "Asia/Tokyo"}}
    message = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}
    wrong = {**message, "params": {**call, "arguments": {"timezone": 7}}}
    with deployed("McpHttpFunction", variables=store.variables) as function:
        answers = [
            json.loads(function.invoke(event | {"body": json.dumps(each)})["body"])["result"]
            for each in (message, wrong)
        ]

    assert answers[0]["structuredContent"]["timezone"] == "Asia/Tokyo"
    assert answers[1]["isError"] is True
    assert "timezone" in answers[1]["content"][0]["text"]


def test_own_tools_in_a_layer_are_served_behind_the_policy(store: Store, tmp_path: Path) -> None:
    example = ROOT / "examples" / "own-tools"
    copytree(example / "src", tmp_path, dirs_exist_ok=True)
    copy(example / "one_file.py", tmp_path)
    entries = tomllib.loads((example / "pyproject.toml").read_text())["project"]["entry-points"]
    info = tmp_path / "my_tools-1.0.0.dist-info"
    info.mkdir()
    lines = [f"[{GROUP}]", *(f"{name} = {value}" for name, value in entries[GROUP].items())]
    (info / "entry_points.txt").write_text("\n".join(lines))
    policy = (example / "policy.toml").read_text()
    policy += '\n[[rule]]\naction = "allow"\nserver = "mixed"\ntool = "*"\n'
    PolicyVersions(store.table, clock=system_clock).push(
        "global", policy, source="p.toml", based_on=0, by="ann"
    )
    (tmp_path / "breaks.py").write_text("import no_such_module_of_mine\n")
    (tmp_path / "ends.py").write_text("raise SystemExit(3)\n")
    (tmp_path / "mixed.py").write_text(
        "from nacre import ToolServer, tool\n"
        'server = ToolServer("mixed", "1")\n'
        "@server.register_tool\n@tool\ndef wrong() -> str:\n    return 'x'\n"
        "@server.register_tool\n@tool\nasync def right() -> str:\n    return 'x'\n"
    )
    variables = {
        **store.variables,
        "NACRE_TOOL_SERVERS": "breaks:server,mixed:server,ends:server,one_file:server",
        "NACRE_READ_TOOLS": "mcp__my-tools__*,mcp__one-file__*",
    }

    def message(method: str, **params: Any) -> dict[str, Any]:
        body = {"jsonrpc": "2.0", "id": 2, "method": method, "params": params}
        return recorded("http_api_mcp") | {"body": json.dumps(body)}

    with deployed("McpHttpFunction", variables=variables, tools=[tmp_path]) as function:
        result = json.loads(function.invoke(message("tools/list"))["body"])["result"]
        count = {"name": "mcp__my-tools__word-count", "arguments": {"text": "a b c"}}
        shout = {"name": "mcp__one-file__shout", "arguments": {"text": "pearl"}}
        told = [
            json.loads(function.invoke(message("tools/call", **each))["body"])["result"]
            for each in (count, shout)
        ]
        logs = function.logs

    own = {each["name"] for each in result["tools"] if each["name"].startswith("mcp__")}
    assert own == {count["name"], shout["name"], "mcp__mixed__right"}
    missing = result["_meta"]["nacre/missing"]
    assert sorted(missing) == ["breaks:server", "ends:server", "mixed"]
    assert missing["mixed"] == "the tool 'wrong' is left out; the log says why"
    assert "mixed: the tool 'wrong' is left out (TypeError: wrong must be an async" in logs
    assert "'breaks:server' could not be loaded (ModuleNotFoundError:" in logs
    assert [each["content"][0]["text"] for each in told] == ["3", "PEARL"]


def test_the_authorizer_lets_a_malformed_token_through_marked_as_invalid() -> None:
    with deployed("TokenAuthorizerFunction") as function:
        answer = function.invoke(recorded("http_api_authorizer"))

    assert answer == {"isAuthorized": True, "context": {"auth": "invalid"}}


def test_the_authorizer_lets_nobody_in_while_the_table_does_not_answer() -> None:
    token = "brt_8x3EXb8FvACNgfiAeKPH2EgtXYkcQNKaZA3Qv0pZ7x21xVzXl"  # well-formed
    event = recorded("http_api_authorizer") | {"identitySource": [f"Bearer {token}"]}
    nobody = {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}
    with deployed("TokenAuthorizerFunction", variables=nobody) as function:
        with pytest.raises(FunctionError, match="UnavailableError") as caught:
            function.invoke(event)
        logs = function.logs

    assert token not in logs
    assert token not in str(caught.value.report)


def test_the_worker_gives_back_what_it_does_not_know() -> None:
    event = recorded("sqs_fifo_patrol")
    event["Records"][0]["body"] = '{"kind": "of another version"}'
    nobody = {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}
    with deployed("PatrolWorkerFunction", variables=nobody) as function:
        answer = function.invoke(event)

    failed = [{"itemIdentifier": event["Records"][0]["messageId"]}]
    assert answer == {"batchItemFailures": failed}


def test_the_evaluator_answers_callers_that_the_authorizer_vouched_for(
    policies: dict[str, str],
) -> None:
    event = recorded("http_api_policy")
    with deployed("PolicyEvaluatorFunction", variables=policies) as function:
        known = function.invoke(event)
        event["requestContext"]["authorizer"]["lambda"] = {"auth": "invalid"}
        unknown = function.invoke(event)

    assert (known["statusCode"], unknown["statusCode"]) == (200, 401)
    verdict = json.loads(known["body"])
    assert (verdict["decision"], verdict["rule"]) == ("prompt", 1)
    assert (verdict["policy"]["scope"], verdict["policy"]["version"]) == ("global", 1)


def test_the_evaluator_may_be_invoked_directly_and_follows_no_links(
    policies: dict[str, str],
) -> None:
    def reading(path: str) -> dict[str, Any]:
        params = {"name": "read", "arguments": {"path": path}}
        return {"method": "tools/call", "params": params, "server": "files"}

    with deployed("PolicyEvaluatorFunction", variables=policies) as function:
        single = function.invoke(reading("/srv/a") | {"being": None})
        several = function.invoke({"calls": [reading("/srv/../etc/passwd"), reading("/srv/b")]})
        local = function.invoke(reading("/srv/a") | {"where": {"is_local": True}})
        lines = [json.loads(line) for line in function.logs.splitlines()]

    assert single["decision"] == "allow"
    assert [each["decision"] for each in several["calls"]] == ["deny", "allow"]
    assert (local["decision"], "is_local" in local["error"]) == ("deny", True)
    assert [line["decision"] for line in lines] == ["allow", "deny", "allow"]


def test_the_evaluator_denies_while_the_table_does_not_answer(policies: dict[str, str]) -> None:
    nobody = policies | {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}
    with deployed("PolicyEvaluatorFunction", variables=nobody) as function:
        answer = function.invoke(recorded("http_api_policy"))

    assert answer["statusCode"] == 503
    assert json.loads(answer["body"])["decision"] == "deny"


def test_the_portal_answers_health_checks() -> None:
    with deployed("PortalFunction") as function:
        answer = function.invoke(recorded("http_api_portal"))

    assert (answer["statusCode"], json.loads(answer["body"])["status"]) == (200, "ok")


def test_a_missing_setting_is_named_at_the_start() -> None:
    with (
        pytest.raises(FunctionError, match="NACRE_DATA_TABLE"),
        deployed("McpHttpFunction", variables={"NACRE_DATA_TABLE": ""}),
    ):
        pass


def test_the_runtime_reports_errors_of_handlers_and_goes_on(tmp_path: Path) -> None:
    (tmp_path / "handler.py").write_text(
        "def handle(event, context):\n"
        "    if event:\n"
        "        raise ValueError('told to')\n"
        "    return context.aws_request_id\n"
    )
    with Function(python=runtime_python(), task=tmp_path) as function:
        with pytest.raises(FunctionError, match="ValueError: told to"):
            function.invoke({"fail": True})
        assert len(function.invoke({})) == 36


def test_the_runtime_reports_a_handler_that_cannot_be_imported(tmp_path: Path) -> None:
    (tmp_path / "handler.py").write_text("import nothing_of_this_name\n")

    with (
        pytest.raises(FunctionError, match="nothing_of_this_name"),
        Function(python=runtime_python(), task=tmp_path),
    ):
        pass
