"""Ports on AWS services: S3, SQS, KMS, Systems Manager, CloudFormation and CloudWatch.

`wiring.aws` opens a client of each service; every call goes through `calls.AwsCalls`.
`deployment` checks the resources of a stack for `doctor --live`.
"""
