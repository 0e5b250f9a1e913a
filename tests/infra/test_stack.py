"""The whole stack, deployed by SAM to a cloud on loopback and called over HTTP."""

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from infra import services
from infra.local_cloud import REGION, local_cloud
from infra.qdrant_server import NoQdrantError, QdrantServer
from infra.sam import run_sam
from infra.tools import MissingPythonError
from tests.docs.blocks import Block, blocks_of, commands_of, matches
from tests.docs.shell import Shell
from tests.end_to_end.attacks.wire import Wire
from tests.end_to_end.clients.oauth_fronts import LoginServer, Owner
from tests.end_to_end.clients.test_oauth_clients import (
    CLIENTS,
    by_inspector,
    conformance_findings,
    converse,
    through_mcp_remote,
)
from tests.end_to_end.load import traffic
from tests.end_to_end.load.stack import loaded
from tests.infra.declared import FUNCTIONS, ROOT
from tests.infra.deployed_stack import (
    KEY,
    PATIENCE_SECONDS,
    STACK,
    Deployed,
    deploy,
    deployed_stack,
    depth,
    settled,
)
from tests.infra.host_proxy import host_proxy
from tests.infra.least_privilege import grants, is_allowed
from tests.infra.recorder import Action, Recorder, recording
from tests.scaffolding.model_server import ModelServer, model_server

pytestmark = pytest.mark.slow

OTHER = "11111111-1111-4111-8111-111111111111"


@pytest.fixture(scope="module")
def cloud() -> Iterator[str]:
    try:
        with local_cloud() as url:
            yield url
    except MissingPythonError:
        pytest.skip("no Python 3.13 on this machine")


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with model_server() as server:
        yield traffic.ready(server)


@pytest.fixture(scope="module")
def recorder(cloud: str) -> Iterator[Recorder]:
    with recording(cloud, sorted(FUNCTIONS)) as found:
        yield found


@pytest.fixture(scope="module")
def deployed(
    cloud: str, model: ModelServer, recorder: Recorder, tmp_path_factory: pytest.TempPathFactory
) -> Deployed:
    return deployed_stack(cloud, model, recorder, tmp_path_factory.mktemp("stack"))


def test_a_good_token_gets_an_answer(deployed: Deployed) -> None:
    answer = deployed.send(token=deployed.token)

    assert (answer.status, answer.body) == (200, {"jsonrpc": "2.0", "id": 1, "result": {}})


def test_the_being_may_stand_in_the_query(deployed: Deployed) -> None:
    answer = deployed.send(path=f"/mcp?being_id={deployed.being}", token=deployed.token)

    assert answer.status == 200


def test_a_token_needs_to_say_which_being(deployed: Deployed) -> None:
    assert deployed.send(path="/mcp", token=deployed.token).status == 403


def test_another_beings_url_is_forbidden(deployed: Deployed) -> None:
    assert deployed.send(path=f"/mcp/{OTHER}", token=deployed.token).status == 403


def test_a_bad_token_is_told_to_log_in_again(deployed: Deployed) -> None:
    answer = deployed.send(token="brt_of_nobody")

    assert answer.status == 401
    assert answer.body["error"]["code"] == 401


def test_a_missing_token_does_not_reach_a_function(deployed: Deployed) -> None:
    answer = deployed.send()

    assert (answer.status, answer.body) == (401, {"message": "Unauthorized"})


def test_there_is_no_stream_to_open_or_close(deployed: Deployed) -> None:
    for method in ("GET", "DELETE"):
        answer = deployed.send(method, token=deployed.token)
        assert (answer.status, answer.headers["allow"]) == (405, "POST")


def test_a_read_only_token_may_read_and_call_read_tools(deployed: Deployed) -> None:
    call = {"name": "get_current_time", "arguments": {"timezone": "Asia/Tokyo"}}
    answer = deployed.send(
        message={"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
        token=deployed.reader,
    )

    assert answer.status == 200
    assert answer.body["result"]["structuredContent"]["timezone"] == "Asia/Tokyo"


def test_a_read_only_token_may_not_write(deployed: Deployed) -> None:
    answer = deployed.call("update_notes", {"notes": ["x"]}, token=deployed.reader)

    assert answer.status == 403
    assert answer.body["error"]["data"]["error"] == "insufficient_scope"


@pytest.fixture
def login(deployed: Deployed) -> Iterator[LoginServer]:
    """Reach the stack under its public address, as its owner's browser and clients do."""

    def link() -> str:
        told: str = deployed.nacre("owner", "bootstrap")["link"]
        assert told.startswith(f"{deployed.public_url}/sign-in#")
        return told.rpartition("#")[2]

    port = int(deployed.public_url.rpartition(":")[2])
    with host_proxy(port, deployed.address, deployed.host):
        yield LoginServer(deployed.outputs["McpUrl"], Owner(deployed.public_url, link))


def test_the_stack_says_where_to_sign_in_and_how(deployed: Deployed) -> None:
    assert deployed.outputs["PortalUrl"] == f"{deployed.public_url}/"
    assert deployed.outputs["SignInLink"] == f"nacre owner bootstrap --stack {STACK}"
    assert deployed.outputs["McpUrl"] == f"{deployed.public_url}/mcp"


@pytest.mark.parametrize("client", ["python-2", "typescript-1"])
def test_a_client_logs_in_by_url_alone_and_is_ended(
    deployed: Deployed, login: LoginServer, client: str, tmp_path: Path
) -> None:
    before = {each["grant_id"] for each in deployed.nacre("client", "list")}

    def end() -> None:
        [grant] = [g for g in deployed.nacre("client", "list") if g["grant_id"] not in before]
        assert (grant["being"], grant["scope"]) == ("me", "full")
        deployed.nacre("client", "delete", grant["grant_id"])

    told = converse(login, CLIENTS[client](login.url, 2), tmp_path, end)

    assert {"recall", "update_notes", "get_context"} <= set(told["tools"][1])
    assert login.owner.logins == 2  # the second time because the first access was ended


def test_other_clients_log_in_by_url_alone(login: LoginServer, tmp_path: Path) -> None:
    name, bridged = through_mcp_remote(login, tmp_path)
    listed = by_inspector(login, "modern", tmp_path)

    assert name == "nacre"
    assert {"recall", "update_notes", "get_context"} <= bridged & listed


def test_the_conformance_suite_finds_nothing_wrong(login: LoginServer, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()

    assert conformance_findings(login, tmp_path) == []


def test_discovery_needs_no_token_and_refusals_name_it(deployed: Deployed) -> None:
    found = deployed.send("GET", f"/.well-known/oauth-protected-resource/mcp/{deployed.being}")
    server = deployed.send("GET", "/.well-known/oauth-authorization-server").body
    refused = deployed.send(token="bto_of_nobody")
    challenge = refused.headers.get("www-authenticate") or refused.headers.get(
        "x-amzn-remapped-www-authenticate", ""
    )

    assert found.body["resource"] == f"{deployed.public_url}/mcp/{deployed.being}"
    assert server["issuer"] == deployed.public_url
    assert server["client_id_metadata_document_supported"] is True
    assert refused.status == 401
    assert f'resource_metadata="{deployed.public_url}/.well-known/' in challenge


def scene(action: str) -> dict[str, Any]:
    return {"scenes": [{"action": action, "actors": ["Ann"], "when": ["2026-11-18"]}]}


def test_without_qdrant_a_memory_is_found_among_the_items(deployed: Deployed) -> None:
    noted = deployed.call("update_notes", scene("Ann planted a walnut tree"))
    found = deployed.search("walnut")

    assert noted.status == 200
    assert "isError" not in noted.body["result"]
    assert "Ann planted a walnut tree" in found


@pytest.fixture(scope="module")
def qdrant(deployed: Deployed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[QdrantServer]:
    """Give the stack a Qdrant server, as an owner does who outgrows the items."""
    try:
        server = QdrantServer(tmp_path_factory.mktemp("qdrant"))
        server.start()
    except NoQdrantError as error:
        pytest.skip(str(error))
    try:
        deploy(
            deployed.built,
            deployed.cloud,
            deployed.environment,
            deployed.model,
            deployed.recorder,
            public_url=deployed.public_url,
            qdrant_url=server.url,
        )
        yield server
    finally:
        server.kill()


def repaired(deployed: Deployed) -> None:
    """Have the stack's worker bring the index up to date."""
    deployed.nacre("reindex", "--repair")
    assert settled(deployed.client("sqs"), deployed.outputs["QueueUrl"]) == 0


def test_with_qdrant_what_was_noted_before_and_after_is_found(
    deployed: Deployed, qdrant: QdrantServer
) -> None:
    repaired(deployed)
    deployed.call("update_notes", scene("Ann sold the old piano"))

    assert "Ann planted a walnut tree" in deployed.search("walnut tree")
    assert "Ann sold the old piano" in deployed.search("piano")
    assert "vector search" in deployed.search("piano")


def test_while_qdrant_is_down_all_is_kept_and_said_and_indexed_once_it_is_back(
    deployed: Deployed, qdrant: QdrantServer
) -> None:
    qdrant.kill()
    noted = deployed.call("update_notes", scene("Ann painted the garden fence"))
    meanwhile = deployed.search("garden fence")
    qdrant.start()
    repaired(deployed)
    checked = deployed.nacre("reindex", "--check")
    after = deployed.search("garden fence")

    assert "isError" not in noted.body["result"]
    assert "keyword search (no index); the search index cannot be reached" in meanwhile
    assert "Ann painted the garden fence" in meanwhile
    assert (checked["sound"], checked["points"]) == (True, 3)
    assert "vector search" in after
    assert "Ann painted the garden fence" in after
    assert depth(deployed.client("sqs"), deployed.outputs["DeadLetterQueueUrl"]) == 0


def test_a_revoked_token_ends(deployed: Deployed) -> None:
    issued = deployed.nacre("token", "create", "--being", "me", "--scope", "full")
    before = deployed.send(token=issued["token"]).status
    deployed.nacre("token", "revoke", issued["token_id"], "--being", "me")

    assert (before, deployed.send(token=issued["token"]).status) == (200, 401)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_official_client_talks_to_it_in_both_eras(deployed: Deployed, mode: Any) -> None:
    async def converse() -> tuple[list[str], Any]:
        headers = {"host": deployed.host, "authorization": f"Bearer {deployed.token}"}
        url = f"{deployed.cloud}/mcp/{deployed.being}"
        async with (
            httpx2.AsyncClient(headers=headers, timeout=PATIENCE_SECONDS) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode) as client,
        ):
            listed = await client.list_tools()
            called = await client.call_tool("get_current_time", {"timezone": "UTC"})
            return [tool.name for tool in listed.tools], called.structured_content

    names, content = asyncio.run(converse())

    assert len(names) == 12
    assert content["timezone"] == "UTC"


def test_the_portal_answers_without_a_token(deployed: Deployed) -> None:
    assert deployed.send("GET", "/healthz").body["status"] == "ok"
    home = deployed.send("GET", "/")
    assert (home.status, home.headers["location"].partition("?")[0]) == (303, "/sign-in")
    found = deployed.send("GET", "/.well-known/oauth-protected-resource")
    assert found.body["resource"] == deployed.public_url


CALL = {"method": "tools/call", "params": {"name": "get_current_time"}, "server": "nacre"}


def test_the_policy_endpoint_wants_a_token(deployed: Deployed) -> None:
    path = "/policy/evaluate"

    assert deployed.send(path=path, message=CALL, token=deployed.token).status == 200
    assert deployed.send(path=path, message=CALL, token=deployed.reader).status == 200
    assert deployed.send(path=path, token="brt_of_nobody").status == 401
    assert deployed.send(path=path).status == 401


def test_the_queue_reaches_the_worker(deployed: Deployed) -> None:
    sqs = deployed.client("sqs")
    sqs.send_message(
        QueueUrl=deployed.outputs["QueueUrl"],
        MessageBody='{"kind": "sweep"}',
        MessageGroupId="sweep",
    )

    assert settled(sqs, deployed.outputs["QueueUrl"]) == 0
    assert depth(sqs, deployed.outputs["DeadLetterQueueUrl"]) == 0


def queued(deployed: Deployed, body: str, group: str) -> None:
    """Send a message as the schedule does, and wait until the worker has dealt with all."""
    sqs = deployed.client("sqs")
    url = deployed.outputs["QueueUrl"]
    sqs.send_message(
        QueueUrl=url,
        MessageBody=body,
        MessageGroupId=group,
        MessageDeduplicationId=str(time.monotonic_ns()),
    )
    assert settled(sqs, url) == 0
    assert depth(sqs, deployed.outputs["DeadLetterQueueUrl"]) == 0


def explored(deployed: Deployed, **arguments: str) -> str:
    answer = deployed.call("recall_memory", arguments)
    return str(answer.body["result"]["content"][0]["text"])


def test_ten_notes_make_a_patrol_happen_and_clusters_exist(deployed: Deployed) -> None:
    queued(deployed, '{"kind": "sweep"}', "sweep")  # takes what earlier tests have noted
    before = deployed.nacre("patrol", "history")
    for number in range(10):
        noted = deployed.call("update_notes", scene(f"Ann rowed race number {number} on the lake"))
        assert "isError" not in noted.body["result"]
    fired = json.loads(noted.body["result"]["content"][0]["text"])["patrol"]
    assert settled(deployed.client("sqs"), deployed.outputs["QueueUrl"]) == 0
    runs = deployed.nacre("patrol", "history")
    status = deployed.nacre("patrol", "status")
    clusters = explored(deployed)

    assert fired == "fired"
    assert len(runs) == len(before) + 1
    assert (runs[0]["trigger"], runs[0]["state"]) == ("auto", "done")
    assert runs[0]["counts"]["scenes_taken"] == 10
    assert runs[0]["counts"]["nodes_created"] == 10
    assert (status["pending_scenes"], status["open"]) == (0, None)
    assert "no scenes wait" in clusters or "0 scenes wait" in clusters
    assert "active node" in clusters
    assert "[cluster " in clusters
    assert "Ann rowed race number" in deployed.search("race on the lake")


def test_the_scheduled_sweep_takes_what_waits(deployed: Deployed) -> None:
    deployed.call("update_notes", scene("Ann found a heron's nest"))
    waiting = deployed.nacre("patrol", "status")["pending_scenes"]
    queued(deployed, '{"kind": "sweep"}', "sweep")
    status = deployed.nacre("patrol", "status")

    assert (waiting, status["pending_scenes"]) == (1, 0)
    assert (status["last"]["trigger"], status["last"]["state"]) == ("sweep", "done")


def test_a_patrol_that_is_asked_for_answers_when_it_is_done(deployed: Deployed) -> None:
    deployed.call("update_notes", scene("Ann learned to whittle spoons"))
    messages = [{"role": "user", "content": "Do you remember the spoons?"}]
    asked = deployed.call("trigger_patrol", {"messages": messages})
    answer = json.loads(asked.body["result"]["content"][0]["text"])
    receipt = deployed.nacre("patrol", "run")

    assert (answer["status"], answer["nodes_created"]) == ("ok", 1)
    assert answer["marker_id"]
    assert receipt["reasons"] == [
        "nothing to do: no scene and no message waits, and nothing is due"
    ]


def ended(deployed: Deployed, task_id: str) -> dict[str, Any]:
    """Return a task once it has ended."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (task := deployed.ask("tasks/get", task_id, taskId=task_id))["status"] == "working":
        assert time.monotonic() < deadline, task
        time.sleep(0.2)
    return task


def blobs(deployed: Deployed) -> list[str]:
    found = deployed.client("s3").list_objects_v2(Bucket=deployed.outputs["BucketName"])
    return [each["Key"] for each in found.get("Contents", [])]


def test_a_patrol_thinks_as_a_task_with_the_callers_key(deployed: Deployed) -> None:
    deployed.model.questions.clear()
    before = set(blobs(deployed))
    long = [{"role": "assistant", "content": f"{number} " + "meow " * 8000} for number in range(3)]
    messages = [{"role": "user", "content": "Mia adopted a cat named Fern"}, *long]
    arguments = {"messages": messages}  # more than an item holds
    task = deployed.ask("tools/call", "trigger_patrol", name="trigger_patrol", arguments=arguments)
    meanwhile = set(blobs(deployed)) - before
    done = ended(deployed, task["taskId"])
    answer = json.loads(done["result"]["content"][0]["text"])

    assert (task["resultType"], task["status"]) == ("task", "working")
    assert len(meanwhile) <= 1
    assert set(blobs(deployed)) == before
    assert (done["status"], answer["status"], answer["messages_stored"]) == ("completed", "ok", 4)
    assert answer["scenes_created"] >= 1
    assert {question.key for question in deployed.model.questions} == {f"Bearer {KEY}"}
    assert depth(deployed.client("sqs"), deployed.outputs["DeadLetterQueueUrl"]) == 0


def test_a_task_whose_job_comes_twice_is_done_once(deployed: Deployed) -> None:
    arguments: dict[str, Any] = {"messages": []}
    call = ("tools/call", "trigger_patrol")
    task = deployed.ask(*call, name="trigger_patrol", arguments=arguments)
    done = ended(deployed, task["taskId"])
    refs = {"task": task["taskId"], "round": "0"}
    job = {"version": 1, "kind": "task", "being_id": deployed.being, "refs": refs}
    queued(deployed, json.dumps(job), f"{deployed.being}#again")

    assert deployed.ask("tasks/get", task["taskId"], taskId=task["taskId"]) == done


def test_a_task_can_be_given_up_over_http(deployed: Deployed) -> None:
    arguments: dict[str, Any] = {"messages": []}
    task = deployed.ask("tools/call", "trigger_patrol", name="trigger_patrol", arguments=arguments)
    deployed.ask("tasks/cancel", task["taskId"], taskId=task["taskId"])
    settled(deployed.client("sqs"), deployed.outputs["QueueUrl"])

    left = deployed.ask("tasks/get", task["taskId"], taskId=task["taskId"])
    assert left["status"] in ("cancelled", "completed")


def test_a_pushed_policy_decides_over_http_directly_and_for_the_own_tools(
    deployed: Deployed, tmp_path: Path
) -> None:
    path = "/policy/evaluate"
    before = deployed.send(path=path, message=CALL, token=deployed.token).body
    policy = tmp_path / "policy.toml"
    policy.write_text('[[rule]]\naction = "deny"\ntool = "get_current_time"\n')
    # A Being's own, so that the others' tests go on.
    being = deployed.nacre("being", "create", "ruled")["being_id"]
    token = deployed.nacre("token", "create", "--being", "ruled", "--scope", "full")["token"]
    pushed = deployed.nacre("policy", "push", str(policy), "--being", "ruled")
    after = deployed.send(path=path, message=CALL, token=token).body
    functions = services.client("lambda", deployed.cloud)
    [name] = [
        each["FunctionName"]
        for each in functions.list_functions()["Functions"]
        if each["FunctionName"].startswith(f"{STACK}-PolicyEvaluator")
    ]
    payload = json.dumps({**CALL, "being": being}).encode()
    invoked = functions.invoke(FunctionName=name, Payload=payload)["Payload"].read()
    message = {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": CALL["params"]}
    called = deployed.send(path=f"/mcp/{being}", message=message, token=token)
    others = deployed.send(path=path, message=CALL, token=deployed.token).body

    assert (before["decision"], before["policy"]["scope"]) == ("allow", "built-in")
    assert (pushed["scope"], pushed["version"]) == (being, 1)
    assert (after["decision"], after["policy"]["scope"]) == ("deny", being)
    assert json.loads(invoked)["decision"] == "deny"
    assert called.body["result"]["isError"] is True
    assert others == before


def test_the_services_for_sam_local_have_the_names_that_the_functions_are_told(cloud: str) -> None:
    services.create(cloud)
    told = json.loads((ROOT / "infra" / "local.json").read_text())["Parameters"]
    tables = services.client("dynamodb", cloud).list_tables()["TableNames"]
    queues = services.client("sqs", cloud).list_queues()["QueueUrls"]
    aliases = services.client("kms", cloud).list_aliases()["Aliases"]

    assert {told["NACRE_TOKENS_TABLE"], told["NACRE_DATA_TABLE"]} <= set(tables)
    assert told["NACRE_KMS_KEY"] in {alias["AliasName"] for alias in aliases}
    assert told["NACRE_QUEUE_URL"].partition("4566")[2] in {
        "/" + url.split("/", 3)[3] for url in queues
    }
    services.client("s3", cloud).head_bucket(Bucket=told["NACRE_BLOBS_BUCKET"])


def test_mixed_traffic_of_official_clients_is_served_and_kept(deployed: Deployed) -> None:
    being = deployed.nacre("being", "create", "busy")["being_id"]
    token = deployed.nacre("token", "create", "--being", "busy", "--scope", "full")["token"]
    busy = replace(deployed, being=being, token=token)

    found = asyncio.run(loaded(busy, seconds=10, clients=2))

    assert found.problems == []
    assert {kind for kind, asked in found.requests.items() if asked} >= {"recall", "update_notes"}
    assert settled(deployed.client("sqs"), deployed.outputs["QueueUrl"]) == 0
    assert depth(deployed.client("sqs"), deployed.outputs["DeadLetterQueueUrl"]) == 0


PAGES = (
    *("overview", "map", "memories", "memories?q=piano", "profile", "profile/notes", "relations"),
    *("letters", "history", "export", "export/file", "connect", "access", "patrols", "policy"),
    *("audit", "model"),
)


QUICKSTART = ROOT / "docs" / "guides" / "quickstart.md"


def with_command(blocks: list[Block], words: str) -> Block:
    [block] = [block for block in blocks if f"$ .venv/bin/nacre {words}" in block.code]
    return block


def test_the_quickstart_takes_a_memory_to_the_stack(deployed: Deployed, tmp_path: Path) -> None:
    """The page's own commands: only the names of the stack and of its host differ."""
    blocks = blocks_of(QUICKSTART)
    past = with_command(blocks, "import session.jsonl")
    [export, there] = (with_command(blocks, words) for words in ("export", "import pearl.nacre"))
    assert past.not_run is export.not_run is None
    program = tmp_path / ".venv" / "bin" / "nacre"
    program.parent.mkdir(parents=True)
    program.symlink_to(Path(sys.executable).with_name("nacre"))
    (tmp_path / ".claude.json").write_text("{}")
    home = {"HOME": str(tmp_path), "NACRE_HOME": str(tmp_path / "data")}
    told = []

    with Shell(tmp_path, {**deployed.environment, **home}) as shell:
        assert shell.run(".venv/bin/nacre being create Pearl")[0] == 0
        for block in (past, export, there):
            for command in commands_of(block):
                text = command.text.replace("--stack nacre", f"--stack {STACK}")
                text = text.replace("https://YOUR_STACK/mcp", deployed.outputs["McpUrl"])
                status, printed = shell.run(text)
                assert status == 0, printed
                assert block is there or matches(command.expected, printed), printed
                told.append(printed)

    assert "Its state now equals that of the export." in told[-2]
    servers = json.loads((tmp_path / ".claude.json").read_text())["mcpServers"]
    assert servers["nacre"]["url"] == deployed.outputs["McpUrl"]
    token = deployed.nacre("token", "create", "--being", "pearl", "--scope", "full")
    [being] = [b["being_id"] for b in deployed.nacre("being", "list") if b["name"] == "pearl"]
    asked = {"user_message": "Where do I live, and what do I grow?"}  # as on the page
    question = {"name": "recall", "arguments": asked}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": question}
    answer = deployed.send(path=f"/mcp/{being}", message=message, token=token["token"])
    assert "I live in Bern and grow roses" in answer.body["result"]["content"][0]["text"]


@pytest.mark.usefixtures("login")
def test_an_owner_sees_and_changes_what_a_being_keeps(deployed: Deployed) -> None:
    """Through the deployed portal, whose calls to AWS are held against its role below."""
    browser = Wire(deployed.public_url).browser()
    link: str = deployed.nacre("owner", "bootstrap")["link"]
    assert browser.sign_in(link.rpartition("#")[2]).status == 303
    here = f"/beings/{deployed.being}"

    def done(page: str, action: str, **fields: str) -> int:
        return browser.submit(browser.get(page), action, **fields).status

    seen = {each: browser.get(f"{here}/{each}").status for each in PAGES}
    seen |= {
        each: browser.get(each).status for each in ("/account", "/rules", "/approvals", "/servers")
    }
    found = re.findall(rf'{here}/memories/((?!merge)[\w-]+)"', browser.get(f"{here}/memories").text)
    node = f"{here}/memories/{found[0]}"
    changed = {
        "note": done(f"{here}/profile/notes", f"{here}/profile/notes", content="Ask about Fern"),
        "key": done(f"{here}/model", f"{here}/model/key", key=KEY),
        "token": done(f"{here}/access", f"{here}/access/tokens", scope="read-only", days="1"),
        "pin": done(node, f"{node}/pin"),
        "forget": done(f"{node}/forget", f"{node}/forget"),
        "patrol": done(f"{here}/patrols", f"{here}/patrols/run"),
        "audit": done(f"{here}/audit", f"{here}/audit/verify"),
        "no key": done(f"{here}/model", f"{here}/model/key/clear"),
    }

    assert {each: status for each, status in seen.items() if status != 200} == {}
    assert {each: status for each, status in changed.items() if status not in (200, 303)} == {}


def recorded(deployed: Deployed) -> dict[str, set[Action]]:
    """Return what each function did, with the names that the template gives its resources."""
    cloudformation = deployed.client("cloudformation")
    rows = cloudformation.describe_stack_resources(StackName=STACK)["StackResources"]
    logical = {
        each["PhysicalResourceId"].rpartition("/")[2]: each["LogicalResourceId"] for each in rows
    }

    def named(resource: str) -> str:
        head, slash, rest = resource.partition("/")
        return f"{logical.get(head, head)}{slash}{rest}"

    return {
        function: {
            Action(action.name, named(action.resource), action.leading)
            for action in deployed.recorder.of(function)
        }
        for function in sorted(FUNCTIONS)
    }


_TASKS = "a task whose arguments or result an item does not hold"
_SECRETS = "a stack that names a secret in its parameters"
_SERVICES = "asked for by S3 and SQS in the function's name, which no emulator does"
_SEARCH_FILES = "a Being's file, which is first written 15 minutes after its first call"

# Granted, and not seen in every run: why it is needed all the same.
UNSEEN = {
    ("McpHttpFunction", "dynamodb:Query", "DataTable/index/gsi2"): "memories of a cluster",
    ("McpHttpFunction", "dynamodb:Query", "DataTable/index/gsi3"): "patrols within a call",
    ("McpHttpFunction", "kms:Decrypt", "NacreKey"): "a being's own key for the language model",
    ("McpHttpFunction", "kms:GenerateDataKey", "NacreKey"): _SERVICES,
    ("McpHttpFunction", "s3:DeleteObject", "BlobsBucket/*"): _TASKS,
    ("McpHttpFunction", "s3:GetObject", "BlobsBucket/*"): _TASKS,
    ("McpHttpFunction", "ssm:GetParameter", f"/nacre/{STACK}/*"): _SECRETS,
    ("PatrolWorkerFunction", "kms:GenerateDataKey", "NacreKey"): _SERVICES,
    ("PatrolWorkerFunction", "s3:PutObject", "BlobsBucket/*"): _TASKS,
    ("PatrolWorkerFunction", "ssm:GetParameter", f"/nacre/{STACK}/*"): _SECRETS,
    ("PortalFunction", "dynamodb:Query", "DataTable/index/gsi2"): "memories of a cluster",
    ("PortalFunction", "dynamodb:Query", "DataTable/index/gsi3"): "a patrol that is only tried",
    ("PortalFunction", "kms:Decrypt", "NacreKey"): "an owner's login to another server",
    ("PortalFunction", "s3:DeleteObject", "BlobsBucket/*/results/*"): "results that were cut",
    ("PortalFunction", "s3:DeleteObject", "BlobsBucket/*/search/*"): _SEARCH_FILES,
    ("PortalFunction", "s3:GetObject", "BlobsBucket/*/search/*"): _SEARCH_FILES,
    ("PortalFunction", "s3:PutObject", "BlobsBucket/*/search/*"): _SEARCH_FILES,
    ("PortalFunction", "ssm:GetParameter", f"/nacre/{STACK}/*"): _SECRETS,
}


def test_every_call_that_a_function_made_is_granted_to_it(deployed: Deployed) -> None:
    refused = {
        (function, action)
        for function, done in recorded(deployed).items()
        for action in done
        if not is_allowed(function, action, STACK)
    }

    assert refused == set()


def test_what_is_granted_is_used_or_has_a_reason(deployed: Deployed) -> None:
    used = recorded(deployed)
    granted = {(name, *grant) for name in FUNCTIONS for grant in grants(name, STACK)}
    unused = {
        (function, name, resource)
        for function, name, resource in granted
        if not any(
            done.name == name and fnmatchcase(done.resource, resource) for done in used[function]
        )
    }

    assert unused - UNSEEN.keys() == set()
    assert UNSEEN.keys() - granted == set()


def lines(deployed: Deployed, function: str) -> list[str]:
    """Return what a function has written, and what Lambda wrote about it."""
    logs = deployed.client("logs")
    pages = logs.get_paginator("filter_log_events").paginate(
        logGroupName=f"/nacre/{STACK}/{function}"
    )
    return [each["message"] for page in pages for each in page["events"]]


def test_the_logs_name_calls_and_count_them_and_hold_nothing_that_was_said(
    deployed: Deployed,
) -> None:
    written = {
        function: lines(deployed, function) for function in ("mcp_http", "patrol_worker", "portal")
    }
    secrets = (deployed.token, deployed.reader, KEY, "brt_of_nobody")
    said = ("walnut", "piano", "garden fence", "rowed race", "heron", "whittle", "Fern")
    found = {
        (function, word)
        for function, texts in written.items()
        for word in (*secrets, *said)
        if any(word in text for text in texts)
    }
    own = [
        json.loads(text)
        for texts in written.values()
        for text in "\n".join(texts).splitlines()
        if text.startswith('{"timestamp"')
    ]
    calls = [line for line in own if line["event"] == "mcp"]
    counted = {name for line in calls for name in line if name in ("Latency", "Refusals")}

    assert found == set()
    assert counted == {"Latency", "Refusals"}
    assert {line["Stack"] for line in calls} == {STACK}
    assert {line["being"] for line in calls if line.get("tool")} >= {deployed.being}
    sweeps = [text for text in written["patrol_worker"] if '"event": "sweep"' in text]
    assert sweeps


# This cloud sets no TTL, recovery or lifecycle, and reads no metrics out of logs.
EXPECTED = {
    **{name: {"ok"} for name in ("wrong token", "grants", "read-only token", "processor", "start")},
    **{name: {"ok"} for name in ("snapshots", "key", "queue", "schedule", "concurrency", "index")},
    **{name: {"warn"} for name in ("no token", "alarms", "expiry", "sweeps", "bucket", "release")},
    "recovery": {"fail"},
}


@pytest.mark.usefixtures("login")
def test_the_checks_of_a_first_deployment_see_what_the_cloud_shows(deployed: Deployed) -> None:
    """A rehearsal: what this cloud does not show is said to be not seen."""
    program = Path(sys.executable).with_name("nacre")
    done = subprocess.run(
        [str(program), "doctor", "--live", "--json", "--stack", STACK],
        env={"PATH": os.defpath, **deployed.environment},
        capture_output=True,
        text=True,
        check=False,
    )
    found = json.loads(done.stdout)
    states: dict[str, set[str]] = {}
    for each in found:
        states.setdefault(each["check"], set()).add(each["state"])
    print("\n".join(f"{each['state']:<5}{each['check']}: {each['found']}" for each in found))

    assert {name: states.get(name) for name in EXPECTED} == EXPECTED
    assert all(each["advice"] for each in found if each["state"] == "fail")


def test_the_status_of_the_stack_tells_its_alarms_and_figures(deployed: Deployed) -> None:
    cloudwatch = deployed.client("cloudwatch")
    about = {"MetricName": "Latency", "Dimensions": [{"Name": "Stack", "Value": STACK}]}
    data = [{**about, "Value": float(value)} for value in range(1, 101)]
    cloudwatch.put_metric_data(Namespace="Nacre", MetricData=data)
    names = [each["AlarmName"] for each in cloudwatch.describe_alarms()["MetricAlarms"]]
    [dead] = [name for name in names if "-DeadLetterAlarm" in name]
    cloudwatch.set_alarm_state(AlarmName=dead, StateValue="ALARM", StateReason="a test")

    found = deployed.nacre("status")["health"]

    alarms = {each["name"]: each["state"] for each in found["alarms"]}
    assert alarms["DeadLetterAlarm"] == "alarm"
    assert {"PatrolLagAlarm", "SpendCapAlarm", "McpHttpThrottleAlarm"} <= alarms.keys()
    assert found["figures"]["calls"] >= 100
    assert 98 <= found["figures"]["latency_p99_ms"] <= 100
    assert [each["DashboardName"] for each in cloudwatch.list_dashboards()["DashboardEntries"]] == [
        STACK
    ]


def test_deleting_the_stack_keeps_what_beings_remember(deployed: Deployed) -> None:
    arguments = ["delete", "--no-prompts", "--stack-name", STACK, "--region", REGION]
    code = run_sam(arguments, environment={"PATH": os.defpath, **deployed.environment})
    tables = deployed.client("dynamodb").list_tables()["TableNames"]

    assert code == 0
    assert {deployed.outputs["TokensTableName"], deployed.outputs["DataTableName"]} <= set(tables)
