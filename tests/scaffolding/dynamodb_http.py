"""DynamoDB over HTTP, in front of moto's tables."""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

from botocore import credentials
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.exceptions import ClientError

from nacre.adapters.aws.dynamodb.get import Credentials
from nacre.wiring.settings import Secret, Settings
from tests.scaffolding.aws_stack import REGION, Stack
from tests.scaffolding.server_threads import answering

CREDENTIALS = Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG", "session")


def settings_at(url: str, stack: Stack, **more: Any) -> Settings:
    """Return the settings of a function whose AWS answers at this address."""
    return Settings(
        data_folder="",
        region=REGION,
        data_table=stack.ids["DataTable"],
        queue_url=stack.ids["PatrolQueue"],
        key_arn=stack.ids["NacreKey"],
        access_key_id=CREDENTIALS.access_key_id,
        secret_access_key=Secret(CREDENTIALS.secret_access_key),
        session_token=Secret(CREDENTIALS.session_token),
        endpoint_url=url,
        **more,
    )


class DynamoDb:
    """Answers reads and transactions to whoever signs as botocore would."""

    def __init__(self, stack: Stack) -> None:
        self.client = stack.dynamodb
        self.connections = 0
        self.requests = 0
        self.failures: list[tuple[int, str]] = []  # answered first, in order
        self.hangs_up = False
        front = self

        class Front(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # else each answer on a kept connection waits for 40 ms

            def setup(self) -> None:
                front.connections += 1
                super().setup()

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                front.requests += 1
                status, answer = front.answer(
                    {name.lower(): text for name, text in self.headers.items()}, body
                )
                self.send_response(status)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)
                self.close_connection = front.hangs_up  # without saying so beforehand

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Front)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
        if self.failures:
            status, kind = self.failures.pop(0)
            error = {"__type": f"com.amazonaws.dynamodb.v20120810#{kind}", "message": "of old"}
            return status, json.dumps(error).encode()
        operation = headers["x-amz-target"].removeprefix("DynamoDB_20120810.")
        if operation not in ("GetItem", "TransactWriteItems") or "Boto" in headers.get(
            "user-agent", ""
        ):
            return self.passed_on(operation, json.loads(body))
        if headers["authorization"] != self.expected(headers, body):
            return 400, b'{"__type":"com.amazon.coral.service#InvalidSignatureException"}'
        asked = json.loads(body)
        if operation == "TransactWriteItems":
            return self.passed_on(operation, asked)
        assert asked["ConsistentRead"] is True
        answer = self.client.get_item(**asked)
        found = {"Item": answer["Item"]} if "Item" in answer else {}
        return 200, json.dumps(found, default=b64).encode()

    def passed_on(self, operation: str, asked: dict[str, Any]) -> tuple[int, bytes]:
        method = "".join(f"_{each.lower()}" if each.isupper() else each for each in operation)
        try:
            found = getattr(self.client, method[1:])(**unpacked(asked))
        except ClientError as error:
            kind = error.response["Error"]["Code"]
            return 400, json.dumps({"__type": f"com.amazonaws#{kind}"}).encode()
        found.pop("ResponseMetadata")
        return 200, json.dumps(found, default=b64).encode()

    def expected(self, headers: dict[str, str], body: bytes) -> str:
        signed = headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0]
        request = AWSRequest(
            "POST", self.url + "/", {name: headers[name] for name in signed.split(";")}, body
        )
        request.context["timestamp"] = headers["x-amz-date"]
        key = credentials.Credentials(*CREDENTIALS)
        signer = SigV4Auth(key, "dynamodb", REGION)
        text = signer.string_to_sign(request, signer.canonical_request(request))
        return (
            f"AWS4-HMAC-SHA256 Credential={signer.scope(request)}, SignedHeaders={signed}, "
            f"Signature={signer.signature(text, request)}"
        )


def unpacked(value: Any) -> Any:
    """Return a request with its binary values as bytes, as boto3 takes them."""
    if isinstance(value, dict):
        if value.keys() == {"B"}:
            return {"B": b64decode(value["B"])}
        return {name: unpacked(each) for name, each in value.items()}
    return [unpacked(each) for each in value] if isinstance(value, list) else value


def b64(value: Any) -> str:
    return b64encode(value).decode()


D = TypeVar("D", bound=DynamoDb)


@contextmanager
def dynamodb_over_http(stack: Stack) -> Iterator[DynamoDb]:
    """Serve the stack's tables on loopback."""
    with serving(DynamoDb(stack)) as front:
        yield front


@contextmanager
def serving(front: D) -> Iterator[D]:
    """Let a front answer until the block ends."""
    with answering(front.server):
        yield front
