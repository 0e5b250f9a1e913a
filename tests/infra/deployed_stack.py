"""The whole stack, deployed by SAM to a cloud on loopback, and how it is called."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from samtranslator.yaml_helper import yaml_parse

from infra import services
from infra.local_cloud import credentials, free_port
from infra.sam import run_sam
from tests.infra.declared import ROOT
from tests.infra.recorder import Recorder
from tests.scaffolding.lambda_layers import HOST
from tests.scaffolding.model_server import ModelServer

STACK = "nacre-stack"
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
KEY = "sk-of-a-caller-0123456789"
PATIENCE_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True, slots=True)
class Deployed:
    """A deployed stack, with a Being and two tokens made by the command line."""

    cloud: str
    outputs: Mapping[str, str]
    environment: Mapping[str, str]
    being: str
    token: str
    reader: str
    built: Path
    model: ModelServer
    api: str
    public_url: str
    recorder: Recorder

    @property
    def address(self) -> str:
        return self.cloud.removeprefix("http://")

    @property
    def host(self) -> str:
        """The API's own host name, by which the cloud tells APIs apart."""
        return f"{self.api}.execute-api.localhost:{self.address.rpartition(':')[2]}"

    def send(
        self,
        method: str = "POST",
        path: str | None = None,
        message: Mapping[str, Any] | None = None,
        *,
        token: str | None = None,
        extra: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send one request and return its answer."""
        headers = {
            "host": self.host,
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            **(extra or {}),
        }
        if token:
            headers["authorization"] = f"Bearer {token}"
        connection = HTTPConnection(self.address, timeout=PATIENCE_SECONDS)
        body = json.dumps(message or PING) if method == "POST" else None
        connection.request(method, path or f"/mcp/{self.being}", body, headers)
        response = connection.getresponse()
        text = response.read()
        connection.close()
        names = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, names, json.loads(text) if text else None)

    def call(self, tool: str, arguments: Mapping[str, Any], *, token: str | None = None) -> Answer:
        """Call one tool, with the full token unless another is given."""
        params = {"name": tool, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params}
        return self.send(message=message, token=token or self.token)

    def ask(self, method: str, named: str, /, **params: Any) -> dict[str, Any]:
        """Send a request as a client of this era does that takes tasks; return its result."""
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {
                "extensions": {"io.modelcontextprotocol/tasks": {}}
            },
        }
        message = {"jsonrpc": "2.0", "id": 4, "method": method, "params": {**params, "_meta": meta}}
        headers = {
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": method,
            "mcp-name": named,
            "x-llm-api-key": KEY,
        }
        answer = self.send(message=message, token=self.token, extra=headers)
        assert answer.status == 200, answer.body
        return dict(answer.body["result"])

    def search(self, query: str) -> str:
        """Return what `search_memory` answers."""
        answer = self.call("search_memory", {"query": query})
        assert answer.status == 200, answer.body
        return str(answer.body["result"]["content"][0]["text"])

    def client(self, service: str) -> Any:
        return services.client(service, self.cloud)

    def nacre(self, *arguments: str) -> Any:
        return nacre(self.environment, *arguments)


def nacre(environment: Mapping[str, str], *arguments: str) -> Any:
    """Return what a command prints as JSON."""
    done = subprocess.run(
        [str(Path(sys.executable).with_name("nacre")), *arguments, "--stack", STACK, "--json"],
        env={"PATH": os.defpath, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def deployed_stack(cloud: str, model: ModelServer, recorder: Recorder, scratch: Path) -> Deployed:
    """Build everything, deploy it, and make a Being with its tokens."""
    environment = {**credentials(cloud), "HOME": str(scratch), "NACRE_HOME": str(scratch / "home")}
    public_url = f"http://127.0.0.1:{free_port()}"
    build(scratch / "build")
    deploy(scratch / "build", cloud, environment, model, recorder, public_url=public_url)
    cloudformation = services.client("cloudformation", cloud)
    found = cloudformation.describe_stacks(StackName=STACK)
    rows = cloudformation.describe_stack_resources(StackName=STACK)["StackResources"]
    [api] = [each["PhysicalResourceId"] for each in rows if each["LogicalResourceId"] == "HttpApi"]
    being = nacre(environment, "being", "create", "me")["being_id"]
    full, reader = (
        nacre(environment, "token", "create", "--being", "me", "--scope", scope)["token"]
        for scope in ("full", "read-only")
    )
    outputs = {each["OutputKey"]: each["OutputValue"] for each in found["Stacks"][0]["Outputs"]}
    return Deployed(
        cloud=cloud,
        outputs=outputs,
        environment=environment,
        being=being,
        token=full,
        reader=reader,
        built=scratch / "build",
        model=model,
        api=api,
        public_url=public_url,
        recorder=recorder,
    )


def build(folder: Path, root: Path = ROOT) -> None:
    arguments = ["build", "--build-dir", str(folder), "--parameter-overrides", f"Arch={HOST}"]
    assert run_sam(arguments, arch=HOST, root=root) == 0


def deploy(
    folder: Path,
    cloud: str,
    environment: Mapping[str, str],
    model: ModelServer,
    recorder: Recorder,
    *,
    public_url: str,
    qdrant_url: str = "",
) -> None:
    """Deploy what was built, but for the alarms over two metrics, which MiniStack refuses.

    Each function finds AWS behind a proxy of its own, which tells its calls from the others'.
    """
    built: dict[str, Any] = yaml_parse((folder / "template.yaml").read_text())
    refused = [
        name
        for name, resource in built["Resources"].items()
        if resource["Type"] == "AWS::CloudWatch::Alarm" and "Metrics" in resource["Properties"]
    ]
    for name in refused:
        del built["Resources"][name]
    for name, url in recorder.endpoints.items():
        variables = built["Resources"][name]["Properties"]["Environment"]["Variables"]
        variables["AWS_ENDPOINT_URL"] = url
    (folder / "local.json").write_text(json.dumps(built))
    parameters = {
        "Arch": HOST,
        "Stage": "dev",
        "EndpointUrl": cloud,
        "AuthorizerCacheSeconds": "0",  # so that a revoked token ends at once
        "PublicUrl": public_url,
        "LlmBaseUrl": model.url,
        "LlmModel": "some-model",
    }
    if qdrant_url:
        parameters["QdrantUrl"] = qdrant_url
    arguments = ["deploy", "--template-file", str(folder / "local.json")]
    arguments += ["--config-file", str(ROOT / "samconfig.toml"), "--stack-name", STACK]
    arguments += ["--no-confirm-changeset", "--parameter-overrides"]
    arguments += [f"{name}={value}" for name, value in parameters.items()]
    assert run_sam(arguments, arch=HOST, environment={"PATH": os.defpath, **environment}) == 0


def depth(sqs: Any, url: str) -> int:
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    counted = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    return sum(int(counted[name]) for name in names)


def settled(sqs: Any, url: str) -> int:
    """Return how many messages are left once none is, or patience has run out."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (left := depth(sqs, url)) and time.monotonic() < deadline:
        time.sleep(0.2)
    return left
