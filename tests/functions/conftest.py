"""The table and the variables of functions under test."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from nacre.adapters.aws.dynamodb.table import DynamoTable
from nacre.core.clock import system_clock
from nacre.firewall.policies.version_store import PolicyVersions
from tests.scaffolding.aws_stack import REGION, aws_stack
from tests.scaffolding.dynamodb_http import CREDENTIALS, dynamodb_over_http

POLICY = """
[[rule]]
action = "prompt"
tool = "get_current_time"
server = "nacre"

[[rule]]
action = "allow"
tool = "read"
args.path = "/srv/**"
"""


@dataclass(frozen=True, slots=True)
class Store:
    """A table over HTTP, and the variables that lead functions there."""

    table: DynamoTable
    variables: dict[str, str]


@pytest.fixture
def store() -> Iterator[Store]:
    with aws_stack() as stack, dynamodb_over_http(stack) as front:
        table = stack.ids["DataTable"]
        yield Store(
            DynamoTable(stack.dynamodb, table),
            {
                "AWS_ENDPOINT_URL": front.url,
                "AWS_REGION": REGION,
                "AWS_ACCESS_KEY_ID": CREDENTIALS.access_key_id,
                "AWS_SECRET_ACCESS_KEY": CREDENTIALS.secret_access_key,
                "AWS_SESSION_TOKEN": CREDENTIALS.session_token,
                "NACRE_DATA_TABLE": table,
            },
        )


@pytest.fixture
def policies(store: Store) -> dict[str, str]:
    """Give functions a table with a policy in it: the variables that lead there."""
    pushed = PolicyVersions(store.table, clock=system_clock)
    pushed.push("global", POLICY, source="p.toml", based_on=0, by="ann")
    return store.variables
