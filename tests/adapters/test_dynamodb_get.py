import json
import threading
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from botocore import credentials
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.adapters.dynamodb_get import Credentials, SignedGet
from nacre.adapters.dynamodb_table import DynamoTable
from nacre.errors import UnavailableError
from nacre.ports.table import Item, Key
from tests.adapters.conftest import StillClock
from tests.aws_stack import REGION, Stack

KEY = Key("T#1", "T")
CREDENTIALS = Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG", "session")


class DynamoDb:
    """DynamoDB over HTTP, with tables of moto; it checks signatures as botocore makes them."""

    def __init__(self, stack: Stack) -> None:
        self.client = stack.dynamodb
        self.connections = 0
        self.requests = 0
        self.failures: list[tuple[int, str]] = []  # answered first, in order
        self.hangs_up = False
        front = self

        class Front(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                front.connections += 1
                super().setup()

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                front.requests += 1
                status, answer = front.answer(dict(self.headers.items()), body)
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
        assert headers["x-amz-target"] == "DynamoDB_20120810.GetItem"
        if headers["authorization"] != self.expected(headers, body):
            return 400, b'{"__type":"com.amazon.coral.service#InvalidSignatureException"}'
        asked = json.loads(body)
        assert asked["ConsistentRead"] is True
        answer = self.client.get_item(**asked)
        found = {"Item": answer["Item"]} if "Item" in answer else {}
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


def b64(value: Any) -> str:
    return b64encode(value).decode()


@pytest.fixture
def dynamodb(stack: Stack) -> Iterator[DynamoDb]:
    front = DynamoDb(stack)
    thread = threading.Thread(
        target=front.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
    )
    thread.start()
    yield front
    front.server.shutdown()
    front.server.server_close()


@pytest.fixture
def table(stack: Stack, clock: StillClock) -> DynamoTable:
    return DynamoTable(stack.dynamodb, stack.ids["TokensTable"], now=clock)


@pytest.fixture
def signed(stack: Stack, dynamodb: DynamoDb, clock: StillClock) -> Iterator[SignedGet]:
    signed = signed_get(stack, dynamodb.url, clock)
    yield signed
    signed.close()


def signed_get(stack: Stack, url: str, clock: StillClock) -> SignedGet:
    return SignedGet(
        stack.ids["TokensTable"],
        region=REGION,
        credentials=CREDENTIALS,
        endpoint_url=url,
        clock=lambda: clock().timestamp(),
        pause=lambda _seconds: None,
    )


def row(**attributes: Any) -> Item:
    return {"pk": KEY.pk, "sk": KEY.sk, "schema": 1, **attributes}


numbers = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(
    -1e100, 1e100, allow_nan=False, allow_infinity=False
).filter(lambda number: number == 0 or abs(number) > 1e-100)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
scalars = st.none() | st.booleans() | numbers | texts | st.binary(max_size=20)
names = st.sampled_from(["S", "B", "N", "M", "L", "name"])  # kinds of DynamoDB among them
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)


def test_answers_equal_those_of_the_full_adapter(signed: SignedGet, table: DynamoTable) -> None:
    @given(st.dictionaries(names, values, max_size=4))
    @settings(max_examples=40, deadline=None)
    def check(attributes: dict[str, Any]) -> None:
        table.put(row(**attributes))

        assert signed.get(KEY) == table.get(KEY)

    check()


def test_a_missing_item_is_none(signed: SignedGet) -> None:
    assert signed.get(Key("T#missing", "T")) is None


def test_an_expired_item_is_absent_though_it_is_still_stored(
    signed: SignedGet, table: DynamoTable, clock: StillClock
) -> None:
    table.put(row(expires_at=clock.at(60)))
    before = signed.get(KEY)
    clock.move(60)

    assert before is not None
    assert signed.get(KEY) is None


def test_the_connection_is_kept(signed: SignedGet, dynamodb: DynamoDb) -> None:
    for _ in range(3):
        signed.get(KEY)

    assert (dynamodb.connections, dynamodb.requests) == (1, 3)


def test_a_connection_that_was_closed_while_idle_is_opened_again(
    signed: SignedGet, dynamodb: DynamoDb
) -> None:
    dynamodb.hangs_up = True
    for _ in range(3):
        signed.get(KEY)

    assert dynamodb.requests == 3


def test_throttling_and_server_errors_pass(
    signed: SignedGet, table: DynamoTable, dynamodb: DynamoDb
) -> None:
    table.put(row(kind="brt"))
    dynamodb.failures = [(400, "ThrottlingException"), (500, "InternalServerError")]

    assert signed.get(KEY) == row(kind="brt")


def test_what_stays_broken_is_unavailable(signed: SignedGet, dynamodb: DynamoDb) -> None:
    dynamodb.failures = [(500, "InternalServerError")] * 9

    with pytest.raises(UnavailableError, match="500 InternalServerError"):
        signed.get(KEY)
    assert dynamodb.requests == 3


def test_a_refusal_is_not_repeated_and_its_text_not_shown(
    signed: SignedGet, dynamodb: DynamoDb
) -> None:
    dynamodb.failures = [(400, "AccessDeniedException")]

    with pytest.raises(UnavailableError) as caught:
        signed.get(KEY)
    assert str(caught.value).endswith(": 400 AccessDeniedException")
    assert dynamodb.requests == 1


def test_nobody_listening_is_unavailable(stack: Stack, clock: StillClock) -> None:
    with pytest.raises(UnavailableError, match="ConnectionRefusedError"):
        signed_get(stack, "http://127.0.0.1:1", clock).get(KEY)


def test_a_signature_is_made_anew_each_day(signed: SignedGet, clock: StillClock) -> None:
    signed.get(KEY)
    clock.move(24 * 3600)

    assert signed.get(Key("T#missing", "T")) is None


def test_credentials_show_no_secret() -> None:
    assert "wJalr" not in repr(CREDENTIALS)
    assert "session" not in repr(CREDENTIALS)
