"""The ways in: HTTP on a laptop, standard input and output, and Lambda functions.

Each face turns its transport into requests for `protocol.dispatch` and sends the reply back.
`mcp_endpoint` is the code that they share.
"""
