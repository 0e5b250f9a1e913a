"""What DynamoDB and the line to it can do to a request, before moto's tables."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from threading import Event, Lock
from typing import Any

import boto3
from botocore.config import Config

from nacre.adapters.aws.incomplete_answers import refuse_broken_answers
from tests.scaffolding.aws_stack import REGION, Stack
from tests.scaffolding.dynamodb_http import dynamodb_over_http
from tests.scaffolding.http_front import Answered, Asked, front, passed_on

_SLOW_SECONDS = 0.05


class Store:
    """A table's endpoint that spoils a share of what it is asked."""

    def __init__(self, behind: str, rng: Random) -> None:
        self._behind = behind
        self._rng = rng
        self._turn = Lock()
        self.share = 0.0
        self.spoiled: Counter[str] = Counter()
        self._transacted: dict[str, Answered] = {}

    def answer(self, asked: Asked) -> Answered | None:
        """Answer one request, or do to it what may happen."""
        with self._turn:
            is_spoiled = self._rng.random() < self.share
            fault = self._rng.choice(_FAULTS) if is_spoiled else ""
            self.spoiled[fault] += is_spoiled
        match fault:
            case "throttled":
                return _error(400, "ProvisionedThroughputExceededException")
            case "failing":
                return _error(500, "InternalServerError")
            case "lost question":
                return None
            case "in part":
                return self._in_part(asked)
            case "slow":
                Event().wait(_SLOW_SECONDS)
            case _:
                pass
        answered = self._done(asked)
        if fault == "lost answer":
            return None
        if fault == "half":
            return Answered(
                answered.status, answered.headers, answered.body, sent=len(answered.body) // 2
            )
        return answered

    def _in_part(self, asked: Asked) -> Answered:
        """Do none of a batch, or let a transaction meet another; other requests are done."""
        operation = asked.header("x-amz-target").rpartition(".")[2]
        question = json.loads(asked.body)
        if operation == "BatchGetItem":
            return _said(200, {"Responses": {}, "UnprocessedKeys": question["RequestItems"]})
        if operation == "TransactWriteItems":
            reasons = [{"Code": "TransactionConflict"} for _ in question["TransactItems"]]
            kind = "com.amazonaws.dynamodb.v20120810#TransactionCanceledException"
            return _said(400, {"__type": kind, "CancellationReasons": reasons})
        return self._done(asked)

    def _done(self, asked: Asked) -> Answered:
        """Ask moto, once for each token of a transaction: it does not know what they mean."""
        token = str(json.loads(asked.body).get("ClientRequestToken", ""))
        if token in self._transacted:
            return self._transacted[token]
        answered = passed_on(asked, self._behind)
        if token and answered.status == 200:
            self._transacted[token] = answered
        return answered


_FAULTS = ("throttled", "failing", "lost question", "lost answer", "half", "in part", "slow")


def _error(status: int, kind: str) -> Answered:
    return _said(status, {"__type": f"com.amazonaws.dynamodb.v20120810#{kind}"})


def _said(status: int, value: Any) -> Answered:
    headers = (("content-type", "application/x-amz-json-1.0"),)
    return Answered(status, headers, json.dumps(value).encode())


@contextmanager
def spoiled_store(stack: Stack, rng: Random) -> Iterator[tuple[Store, Any]]:
    """Give the faults, and a client as the wiring makes them that meets them."""
    with dynamodb_over_http(stack) as behind:
        store = Store(behind.url.removeprefix("http://"), rng)
        with front(store.answer) as address:
            client = boto3.client(
                "dynamodb",
                endpoint_url=f"http://{address}",
                region_name=REGION,
                aws_access_key_id="test",
                aws_secret_access_key="test",
                config=Config(retries={"total_max_attempts": 1}, max_pool_connections=20),
            )
            refuse_broken_answers(client)
            yield store, client
            client.close()
