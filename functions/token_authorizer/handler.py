"""Lambda: who calls, by the token of the request."""

from nacre.faces.aws_lambda.token_authorizer import authorizer_handler
from nacre.wiring.settings import Settings
from nacre.wiring.signed_requests import token_lookup

handle = authorizer_handler(token_lookup(Settings.from_environment()))
