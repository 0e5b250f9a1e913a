"""The audit: one chained record for each decision.

`enforce.judge` writes to `log.AuditTrail`, which leaves through the audit port.
"""
