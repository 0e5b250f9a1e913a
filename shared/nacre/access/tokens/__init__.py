"""Tokens: their format, their stored rows, and the check of a caller's token.

`token_check` checks a token against its stored row. `authentication.Gate` calls it on a laptop,
the authorizer function on AWS.
"""
