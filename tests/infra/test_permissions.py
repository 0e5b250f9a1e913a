from typing import Any

from tests.infra.declared import FUNCTIONS, as_list, functions, named, resources, statements

READ_WRITE = (
    "dynamodb:BatchGetItem dynamodb:ConditionCheckItem dynamodb:DeleteItem dynamodb:GetItem "
    "dynamodb:PutItem dynamodb:Query dynamodb:UpdateItem"
)
ONE_BY_ONE = (
    "dynamodb:DeleteItem dynamodb:GetItem dynamodb:PutItem dynamodb:Query dynamodb:UpdateItem"
)
BLOBS = "s3:DeleteObject s3:GetObject s3:PutObject"
TRACE = "xray:PutTelemetryRecords xray:PutTraceSegments"
WRITE_LOG = "logs:CreateLogStream logs:PutLogEvents"
SEAL = "kms:Decrypt kms:Encrypt kms:GenerateDataKey"


def whole_table(
    name: str, actions: str = READ_WRITE, indexes: tuple[int, ...] = (1, 2, 3)
) -> dict[str, str]:
    """Return a table to read and write, with indexes that can only be asked."""
    return {name: actions, **{f"{name}/index/gsi{n}": "dynamodb:Query" for n in indexes}}


SECRETS = (
    "arn:${AWS::Partition}:ssm:${AWS::Region}:${AWS::AccountId}:parameter/nacre/${AWS::StackName}"
)
READ_SECRETS = {f"{SECRETS}/*": "ssm:GetParameter"}
SEARCH_SECRETS = ("EmbeddingSecret", "QdrantSecret")

# What each function may do, by resource: nothing else, anywhere.
GRANTS = {
    "McpHttpFunction": {
        **whole_table("DataTable"),
        "PatrolQueue": "sqs:SendMessage",
        "BlobsBucket/*": BLOBS,
        "NacreKey": SEAL,
        **READ_SECRETS,
    },
    "TokenAuthorizerFunction": {"TokensTable": "dynamodb:GetItem", "NacreKey": "kms:Decrypt"},
    "PatrolWorkerFunction": {
        **whole_table("DataTable"),
        "PatrolQueue": "sqs:ChangeMessageVisibility sqs:DeleteMessage sqs:GetQueueAttributes "
        "sqs:ReceiveMessage sqs:SendMessage",
        "BlobsBucket/*": BLOBS,
        "NacreKey": SEAL,
        **READ_SECRETS,
    },
    "PolicyEvaluatorFunction": {"DataTable": "dynamodb:GetItem", "NacreKey": "kms:Decrypt"},
    "PortalFunction": {
        **whole_table("TokensTable", ONE_BY_ONE, indexes=(2,)),
        **whole_table("DataTable"),
        "PatrolQueue": "sqs:SendMessage",
        "BlobsBucket/*/search/*": BLOBS,
        "BlobsBucket": "s3:ListBucket",
        "BlobsBucket/*/results/*": "s3:DeleteObject",
        "NacreKey": SEAL,
        **{f"{SECRETS}/${{{name}}}": "ssm:GetParameter" for name in SEARCH_SECRETS},
    },
}


def granted(role: dict[str, Any]) -> dict[str, str]:
    found: dict[str, set[str]] = {}
    for statement in statements(role):
        assert statement["Effect"] == "Allow"
        for resource in as_list(statement["Resource"]):
            found.setdefault(named(resource), set()).update(as_list(statement["Action"]))
    return {resource: " ".join(sorted(actions)) for resource, actions in found.items()}


def test_each_function_may_do_what_the_table_says_and_nothing_else() -> None:
    roles = resources("AWS::IAM::Role")
    assert GRANTS.keys() == FUNCTIONS

    for name, function in functions().items():
        own = {f"{name}Log": WRITE_LOG, "*": TRACE}
        assert granted(roles[named(function["Role"])]) == {**GRANTS[name], **own}, name


def test_no_role_has_a_wildcard_action_a_managed_policy_or_somebody_elses_trust() -> None:
    trusted = {
        "PatrolScheduleRole": "scheduler.amazonaws.com",
        "DeploymentRole": "codedeploy.amazonaws.com",
    }

    for name, role in resources("AWS::IAM::Role").items():
        [trust] = role["AssumeRolePolicyDocument"]["Statement"]
        assert "ManagedPolicyArns" not in role
        assert trust["Principal"] == {"Service": trusted.get(name, "lambda.amazonaws.com")}
        for statement in statements(role):
            assert not any("*" in action for action in as_list(statement["Action"])), name
            if "*" in as_list(statement["Resource"]):
                assert statement["Sid"] == "Trace", name  # X-Ray has no resources to name


def test_only_the_portal_may_write_tokens() -> None:
    writers = {
        name
        for name, grants in GRANTS.items()
        for resource, actions in grants.items()
        if resource == "TokensTable" and actions != "dynamodb:GetItem"
    }

    assert writers == {"PortalFunction"}


def test_only_the_portal_lists_blobs_and_only_results_of_tools() -> None:
    listing = {
        name: statement["Condition"]
        for name, role in resources("AWS::IAM::Role").items()
        for statement in statements(role)
        if "s3:ListBucket" in as_list(statement["Action"])
    }

    assert listing == {"PortalFunctionRole": {"StringLike": {"s3:prefix": "*/results/"}}}


def test_functions_that_use_the_key_through_a_service_may_not_use_it_directly() -> None:
    roles = resources("AWS::IAM::Role")
    for name in ("TokenAuthorizerFunction", "PolicyEvaluatorFunction", "PortalFunction"):
        for statement in statements(roles[f"{name}Role"]):
            if statement.get("Sid") in ("SealModelKeys", "SealLogins"):
                continue
            if any(action.startswith("kms:") for action in as_list(statement["Action"])):
                assert "kms:ViaService" in statement["Condition"]["StringEquals"], name


def test_the_portal_seals_the_keys_of_models_and_opens_none() -> None:
    role = resources("AWS::IAM::Role")["PortalFunctionRole"]
    [sealing] = [each for each in statements(role) if each["Sid"] == "SealModelKeys"]

    assert as_list(sealing["Action"]) == ["kms:Encrypt"]
    assert sealing["Condition"] == {"StringEquals": {"kms:EncryptionContext:purpose": "llm-key"}}


def test_the_portal_opens_logins_to_other_servers_and_no_other_secret() -> None:
    role = resources("AWS::IAM::Role")["PortalFunctionRole"]
    [sealing] = [each for each in statements(role) if each["Sid"] == "SealLogins"]

    assert as_list(sealing["Action"]) == ["kms:Encrypt", "kms:Decrypt"]
    purpose = {"kms:EncryptionContext:purpose": "server-login"}
    assert sealing["Condition"] == {"StringEquals": purpose}


def test_the_schedule_may_send_and_encrypt_and_nothing_else() -> None:
    assert granted(resources("AWS::IAM::Role")["PatrolScheduleRole"]) == {
        "PatrolQueue": "sqs:SendMessage",
        "ScheduleDeadLetterQueue": "sqs:SendMessage",
        "NacreKey": "kms:Decrypt kms:GenerateDataKey",
    }


def test_the_evaluator_may_read_policies_and_nothing_else_of_the_table() -> None:
    role = resources("AWS::IAM::Role")["PolicyEvaluatorFunctionRole"]
    [reading] = [
        statement
        for statement in statements(role)
        if as_list(statement["Action"]) == ["dynamodb:GetItem"]
    ]

    assert reading["Condition"] == {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["P#*"]}}
