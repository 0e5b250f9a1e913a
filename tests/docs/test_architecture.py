from infra.architecture import PAGE, diagram, page

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
