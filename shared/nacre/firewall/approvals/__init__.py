"""Calls that wait for a person.

`enforce` asks `service.Approvals`. The person answers through the client, the console or `nacre
approvals`.
"""
