"""Checks of message contents: secrets, payment numbers, base64, and digests for the audit.

`enforce.content_check` and the approvals call these modules. They find and mask; they decide
nothing.
"""
