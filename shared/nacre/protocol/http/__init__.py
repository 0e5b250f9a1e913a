"""The HTTP rules of the MCP endpoint, independent of any web server.

A server or a Lambda function builds an `http_messages.HttpRequest` and passes it to
`endpoint_rules.Endpoint`. That checks origin, token, headers and version, calls the dispatcher,
and returns an HTTP response.
"""
