"""What a deployed stack says of itself: its outputs, and what it consists of."""

from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from nacre.adapters.aws.calls import AwsCalls, error_code, unavailable
from nacre.core.errors import ForbiddenError, NotFoundError

_REFUSALS = ("AccessDenied", "InvalidClientTokenId", "ExpiredToken", "SignatureDoesNotMatch")


def stack_outputs(client: Any, stack: str) -> dict[str, str]:
    """Return the outputs of a stack by name; raises NotFoundError when there is none."""
    try:
        answer = AwsCalls(client).call("describe_stacks", twice=True, StackName=stack)
    except ClientError as error:
        if error_code(error) == "ValidationError":
            raise NotFoundError(
                f"there is no stack {stack!r} in {client.meta.region_name}; deploy it with "
                "'sam deploy --guided', or choose its region with AWS_REGION"
            ) from error
        if error_code(error) in _REFUSALS:
            raise ForbiddenError("these AWS credentials may not read the stack") from error
        raise unavailable("describe_stacks", error) from error
    outputs = answer["Stacks"][0].get("Outputs", [])
    return {output["OutputKey"]: output["OutputValue"] for output in outputs}


@dataclass(frozen=True, slots=True)
class StackResource:
    """One resource, by the name in the template and by the one that AWS gave it."""

    kind: str
    logical: str
    physical: str


def stack_resources(client: Any, stack: str) -> list[StackResource]:
    """Return the resources of a stack that exist."""
    found: list[StackResource] = []
    page: dict[str, str] = {}
    while True:
        try:
            answer = AwsCalls(client).call(
                "list_stack_resources", twice=True, StackName=stack, **page
            )
        except ClientError as error:
            if error_code(error) in _REFUSALS:
                raise ForbiddenError("these AWS credentials may not read the stack") from error
            raise unavailable("list_stack_resources", error) from error
        found += [
            StackResource(each["ResourceType"], each["LogicalResourceId"], physical)
            for each in answer["StackResourceSummaries"]
            if (physical := each.get("PhysicalResourceId"))
        ]
        if "NextToken" not in answer:
            return found
        page = {"NextToken": answer["NextToken"]}
