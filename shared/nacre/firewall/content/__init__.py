"""What is in messages: secrets, payment numbers, base64, and digests of what is not stored.

`enforce.content_check` and the approvals call these modules. They find and mask; they decide
nothing.
"""
