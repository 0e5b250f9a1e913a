"""Tokens: their format, their stored rows, and the decision who is let in.

`authentication.Gate` receives the header of a request and returns the caller or an error. On
AWS the authorizer function calls `token_check` with the stored row.
"""
