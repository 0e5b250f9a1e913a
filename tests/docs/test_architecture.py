import re

import pytest

from infra.architecture import PACKAGE, PAGE, ROOT, call, diagram, layers, page

TEMPLATE = {
    "Table": {"Type": "AWS::DynamoDB::Table", "Properties": {}},
    "Work": {"Type": "AWS::SQS::Queue", "Properties": {}},
    "Api": {
        "Type": "AWS::ApiGatewayV2::Route",
        "Properties": {
            "RouteKey": "POST /call",
            "AuthorizationType": "NONE",
            "Target": {"Fn::Sub": "integrations/${Link}"},
        },
    },
    "Link": {
        "Type": "AWS::ApiGatewayV2::Integration",
        "Properties": {"IntegrationUri": {"Fn::If": ["X", "${OneAlias}", "${OneFunction.Arn}"]}},
    },
    "OneFunction": {
        "Type": "AWS::Serverless::Function",
        "Properties": {"CodeUri": "functions/one/"},
    },
    "OneFunctionRole": {
        "Type": "AWS::IAM::Role",
        "Properties": {
            "Policies": [
                {
                    "PolicyDocument": {
                        "Statement": [
                            {
                                "Action": ["dynamodb:GetItem"],
                                "Resource": {"Fn::GetAtt": ["Table", "Arn"]},
                            },
                            {
                                "Action": ["dynamodb:DeleteItem"],
                                "Resource": {"Fn::GetAtt": ["Table", "Arn"]},
                            },
                            {"Action": ["kms:Decrypt"], "Resource": "*"},
                        ]
                    }
                }
            ]
        },
    },
}


def test_the_page_shows_what_the_template_and_the_contract_say() -> None:
    text = PAGE.read_text(encoding="utf-8")

    assert page(text) == text, "run `make reference`"


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/concepts/architecture.md"])
def test_every_file_and_folder_of_the_package_that_a_page_names_exists(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    paths = re.findall(r"`((?:\w+/)+(?:\w+\.py)?)`", text)
    tops = {part for parts in layers() for part in parts}
    named = [path for path in paths if path.partition("/")[0] in tops]

    assert len(named) > 8
    assert [path for path in named if not (PACKAGE / path).exists()] == []


def test_the_guide_for_contributors_names_the_layers_of_the_contract() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    [line] = re.findall(r"^`cli [^\n]*\n[^\n]*`core`$", text, re.MULTILINE)
    shown = [re.findall(r"\w+", layer) for layer in line.split("→")]

    assert [[part for part in parts if part != "functions"] for parts in shown] == layers()


def test_the_way_of_a_call_begins_at_a_client_and_ends_at_the_ports() -> None:
    lines = call().splitlines()

    assert lines[2] == '    client(["client"]) --> faces'
    assert lines[-2] == "    memory --> ports"


def test_a_function_has_an_arrow_for_each_route_and_each_grant() -> None:
    assert diagram(TEMPLATE).splitlines()[2:-1] == [
        '    Clients(["clients, browsers"]) --> HttpApi{{"HTTP API"}}',
        '    Table[("table")]',
        '    Work[/"work"/]',
        '    OneFunction["one"]',
        '    Secrets[("secrets, in Systems Manager")]',
        '    HttpApi -- "/call" --> OneFunction',
        '    OneFunction -- "reads, writes" --> Table',
    ]
