"""Ports on AWS services: S3, SQS, KMS, Systems Manager, CloudFormation and CloudWatch."""
