"""The item store on DynamoDB.

`table` uses boto3. `get` and `append` sign single requests with the standard library, for
functions that must start fast.
"""
