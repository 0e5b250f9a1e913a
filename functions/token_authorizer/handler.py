"""Lambda: who calls, by the token of the request."""

from nacre.faces.aws_lambda.token_authorizer import authorizer_handler
from nacre.wiring import aws
from nacre.wiring.settings import Settings

handle = authorizer_handler(aws.token_lookup(Settings.from_environment()))
