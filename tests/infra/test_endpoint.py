from typing import Any

from tests.infra.declared import functions, named, resources

TOKEN = "TokenAuthorizer"
# Route, function, and the authorizer that stands before it.
ROUTES = {
    "POST /mcp": ("McpHttpFunction", TOKEN),
    "GET /mcp": ("McpHttpFunction", TOKEN),
    "DELETE /mcp": ("McpHttpFunction", TOKEN),
    "POST /mcp/{beingId}": ("McpHttpFunction", TOKEN),
    "GET /mcp/{beingId}": ("McpHttpFunction", TOKEN),
    "DELETE /mcp/{beingId}": ("McpHttpFunction", TOKEN),
    "POST /policy/evaluate": ("PolicyEvaluatorFunction", TOKEN),
    "GET /": ("PortalFunction", None),
    "GET /{proxy+}": ("PortalFunction", None),
    "POST /{proxy+}": ("PortalFunction", None),
    "GET /authorize": ("PortalFunction", None),
    "POST /sign-in": ("PortalFunction", None),
    "POST /register": ("PortalFunction", None),
    "POST /token": ("PortalFunction", None),
}


def called(uri: Any) -> str:
    """Return the function that an invocation URI names; with versions, its alias."""
    with_versions, without = uri["Fn::If"][1:]
    alias = str(with_versions["Fn::Sub"]).partition("functions/${")[2]
    function = (
        str(without["Fn::Sub"]).partition("functions/${")[2].partition(".Arn}/invocations")[0]
    )
    assert alias == f"{function.removesuffix('Function')}Alias}}/invocations"
    return function


def test_every_route_leads_to_its_function_behind_its_authorizer() -> None:
    integrations = resources("AWS::ApiGatewayV2::Integration")
    found = {}
    for route in resources("AWS::ApiGatewayV2::Route").values():
        integration = route["Target"]["Fn::Sub"].removeprefix("integrations/${").removesuffix("}")
        authorizer = route.get("AuthorizerId")
        assert route["AuthorizationType"] == ("CUSTOM" if authorizer else "NONE")
        found[route["RouteKey"]] = (
            called(integrations[integration]["IntegrationUri"]),
            named(authorizer) if authorizer else None,
        )

    assert found == ROUTES


def test_events_come_in_payload_version_2() -> None:
    for integration in resources("AWS::ApiGatewayV2::Integration").values():
        assert integration["IntegrationType"] == "AWS_PROXY"
        assert integration["PayloadFormatVersion"] == "2.0"


def test_the_authorizer_answers_simply_and_is_cached_by_the_token_alone() -> None:
    [authorizer] = resources("AWS::ApiGatewayV2::Authorizer").values()

    assert called(authorizer["AuthorizerUri"]) == "TokenAuthorizerFunction"
    assert authorizer["AuthorizerType"] == "REQUEST"
    assert authorizer["AuthorizerPayloadFormatVersion"] == "2.0"
    assert authorizer["EnableSimpleResponses"] is True
    assert authorizer["IdentitySource"] == ["$request.header.Authorization"]
    assert authorizer["AuthorizerResultTtlInSeconds"] == {"Ref": "AuthorizerCacheSeconds"}


def test_the_api_may_call_each_function_on_its_own_routes_only() -> None:
    allowed: dict[str, set[str]] = {}
    for permission in resources("AWS::Lambda::Permission").values():
        assert permission["Principal"] == "apigateway.amazonaws.com"
        source = permission["SourceArn"]["Fn::Sub"].partition("${HttpApi}/")[2]
        allowed.setdefault(named(permission["FunctionName"]), set()).add(source)

    assert allowed == {
        "McpHttpFunction": {"*/*/mcp", "*/*/mcp/*"},
        "TokenAuthorizerFunction": {"authorizers/*"},
        "PolicyEvaluatorFunction": {"*/POST/policy/evaluate"},
        "PortalFunction": {"*/GET/*", "*/POST/*"},
    }
    assert allowed.keys() | {"PatrolWorkerFunction"} == functions().keys()


def test_the_stage_is_at_the_root_throttled_and_logs_neither_path_nor_query() -> None:
    [stage] = resources("AWS::ApiGatewayV2::Stage").values()
    settings = stage["DefaultRouteSettings"]
    logged = stage["AccessLogSettings"]["Format"]

    assert stage["StageName"] == "$default"
    assert stage["AutoDeploy"] is True
    assert settings["ThrottlingRateLimit"] == {"Ref": "RequestsPerSecond"}
    assert settings["ThrottlingBurstLimit"] == {"Ref": "RequestBurst"}
    assert set(stage["RouteSettings"]) <= set(ROUTES)  # API Gateway refuses others
    assert all(each["ThrottlingRateLimit"] <= 20 for each in stage["RouteSettings"].values())
    assert not any(secret in logged for secret in ("$context.path", "query", "header", "identity"))


def test_browsers_may_read_the_challenge_and_never_send_cookies() -> None:
    [api] = resources("AWS::ApiGatewayV2::Api").values()
    [condition, cors, nothing] = api["CorsConfiguration"]["Fn::If"]

    assert (condition, nothing) == ("HasCors", {"Ref": "AWS::NoValue"})
    assert cors["AllowOrigins"] == {"Ref": "CorsOrigins"}
    assert cors["ExposeHeaders"] == ["www-authenticate"]
    assert {"authorization", "content-type", "mcp-protocol-version"} <= set(cors["AllowHeaders"])
    assert "AllowCredentials" not in cors
