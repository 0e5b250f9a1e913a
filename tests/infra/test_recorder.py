"""What IAM decides on, read from requests as the SDK sends them."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import boto3
import pytest
from botocore.config import Config

from tests.infra.least_privilege import grants, is_allowed
from tests.infra.recorder import Action, Recorder, recording
from tests.scaffolding.server_threads import answering


class _Cloud(BaseHTTPRequestHandler):
    """Answers everything with next to nothing."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        body = b"{}" if self.command == "POST" else b""
        body = b"<DeleteResult/>" if "?delete" in self.path else body
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_PUT = do_GET = do_POST  # noqa: N815 - the library's names

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Cloud)
    address = f"http://127.0.0.1:{server.server_port}"
    with answering(server), recording(address, ["McpHttpFunction"]) as recorder:
        yield recorder


def client(recorder: Recorder, service: str) -> Any:
    session: Any = boto3.Session(
        aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1"
    )
    return session.client(
        service,
        endpoint_url=recorder.endpoints["McpHttpFunction"],
        config=Config(retries={"total_max_attempts": 1}),
    )


def test_a_transaction_is_each_of_its_writes_and_a_query_is_of_its_index(
    recorder: Recorder,
) -> None:
    key = {"pk": {"S": "B#1"}, "sk": {"S": "META"}}
    dynamodb = client(recorder, "dynamodb")
    dynamodb.transact_write_items(
        TransactItems=[
            {"Put": {"TableName": "data", "Item": key}},
            {"ConditionCheck": {"TableName": "data", "Key": key, "ConditionExpression": "a = :a"}},
        ]
    )
    dynamodb.query(
        TableName="data",
        IndexName="gsi1",
        KeyConditionExpression="gsi1pk = :p",
        ExpressionAttributeValues={":p": {"S": "WORK#00"}},
    )

    assert recorder.of("McpHttpFunction") == {
        Action("dynamodb:PutItem", "data", "B#1"),
        Action("dynamodb:ConditionCheckItem", "data", "B#1"),
        Action("dynamodb:Query", "data/index/gsi1"),
    }


def test_queues_keys_secrets_and_objects_are_named_as_policies_name_them(
    recorder: Recorder,
) -> None:
    url = f"{recorder.endpoints['McpHttpFunction']}/000000000000/patrol.fifo"
    client(recorder, "sqs").send_message(QueueUrl=url, MessageBody="x", MessageGroupId="g")
    client(recorder, "kms").encrypt(KeyId="arn:aws:kms:us-east-1:1:key/k1", Plaintext=b"x")
    client(recorder, "ssm").get_parameter(Name="/nacre/test/KEY", WithDecryption=True)
    client(recorder, "s3").put_object(Bucket="blobs", Key="a/b", Body=b"x")
    client(recorder, "s3").list_objects_v2(Bucket="blobs", Prefix="b1/results/")
    client(recorder, "s3").delete_objects(Bucket="blobs", Delete={"Objects": [{"Key": "a/b"}]})

    assert recorder.of("McpHttpFunction") == {
        Action("sqs:SendMessage", "patrol.fifo"),
        Action("kms:Encrypt", "k1"),
        Action("ssm:GetParameter", "/nacre/test/KEY"),
        Action("s3:PutObject", "blobs/*"),
        Action("s3:ListBucket", "blobs", "b1/results/"),
        Action("s3:DeleteObject", "blobs/*"),
    }


@pytest.mark.parametrize(
    ("function", "action", "allowed"),
    [
        ("McpHttpFunction", Action("dynamodb:GetItem", "DataTable", "B#1"), True),
        ("McpHttpFunction", Action("dynamodb:GetItem", "TokensTable", "T#1"), False),
        ("McpHttpFunction", Action("dynamodb:Scan", "DataTable"), False),
        ("McpHttpFunction", Action("ssm:GetParameter", "/nacre/stack/KEY"), True),
        ("McpHttpFunction", Action("ssm:GetParameter", "/nacre/other/KEY"), False),
        ("PolicyEvaluatorFunction", Action("dynamodb:GetItem", "DataTable", "P#1"), True),
        ("PolicyEvaluatorFunction", Action("dynamodb:GetItem", "DataTable", "B#1"), False),
        ("PortalFunction", Action("s3:ListBucket", "BlobsBucket", "b1/results/"), True),
        ("PortalFunction", Action("s3:ListBucket", "BlobsBucket", "b1/"), False),
        ("PortalFunction", Action("s3:DeleteObject", "BlobsBucket/b1/results/t1/r1"), True),
        ("PortalFunction", Action("s3:DeleteObject", "BlobsBucket/b1/search/r1"), True),
        ("PortalFunction", Action("s3:GetObject", "BlobsBucket/b1/results/t1/r1"), False),
        # Its key may be used by the services that it asks, and not by itself.
        ("PolicyEvaluatorFunction", Action("kms:Decrypt", "NacreKey"), False),
    ],
)
def test_statements_decide_as_iam_does(function: str, action: Action, allowed: bool) -> None:
    assert is_allowed(function, action, "stack") is allowed


def test_what_aws_does_itself_is_no_grant_that_a_run_could_show() -> None:
    found = set(grants("PatrolWorkerFunction", "stack"))

    assert ("sqs:SendMessage", "PatrolQueue") in found
    assert not {name for name, _ in found if name.startswith(("logs:", "xray:"))}
    assert not {name for name, _ in found if name == "sqs:ReceiveMessage"}
