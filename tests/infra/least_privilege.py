"""IAM's decision about recorded calls, by the statements of template.yaml."""

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from tests.infra.declared import as_list, functions, named, resources, statements
from tests.infra.recorder import Action

# What Lambda, its poller and the services behind do in a function's name: no call of its own.
_BY_AWS = {"logs", "xray"}
_BY_THE_POLLER = {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"}

Grant = tuple[str, str]  # an action and a resource, by its logical id


def statements_of(function: str) -> list[dict[str, Any]]:
    """Return what a function's role says."""
    return statements(resources("AWS::IAM::Role")[named(functions()[function]["Role"])])


def is_allowed(function: str, action: Action, stack: str) -> bool:
    """Whether the function may do that; its resources are known by their logical ids."""
    return any(_permits(statement, action, stack) for statement in statements_of(function))


def _permits(statement: Mapping[str, Any], action: Action, stack: str) -> bool:
    if statement["Effect"] != "Allow" or action.name not in as_list(statement["Action"]):
        return False
    patterns = [_pattern(each, stack) for each in as_list(statement["Resource"])]
    if not any(fnmatchcase(action.resource, pattern) for pattern in patterns):
        return False
    conditions = statement.get("Condition", {})
    if "kms:ViaService" in conditions.get("StringEquals", {}):
        return False  # a call of the function's own comes through no service
    leading = conditions.get("ForAllValues:StringLike", {}).get("dynamodb:LeadingKeys")
    leading = leading or conditions.get("StringLike", {}).get("s3:prefix")
    return leading is None or any(fnmatchcase(action.leading, each) for each in as_list(leading))


def _pattern(resource: Any, stack: str) -> str:
    text = named(resource).replace("${AWS::StackName}", stack)
    # A name that the owner chooses, in a parameter of the template, may be any.
    text = re.sub(r"\$\{\w+\}", "*", text)
    return text.partition(":parameter")[2] if ":parameter" in text else text


def grants(function: str, stack: str) -> Iterator[Grant]:
    """Give every action on every resource that the function itself may take directly."""
    for statement in statements_of(function):
        if "kms:ViaService" in statement.get("Condition", {}).get("StringEquals", {}):
            continue
        for name in as_list(statement["Action"]):
            if name.partition(":")[0] in _BY_AWS or name in _BY_THE_POLLER:
                continue
            for resource in as_list(statement["Resource"]):
                yield name, _pattern(resource, stack)
