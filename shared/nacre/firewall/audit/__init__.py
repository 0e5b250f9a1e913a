"""The audit: one chained record for each decision.

`enforce.judge` writes to `log.AuditTrail`, which leaves through the audit port. Each record holds
the hash of the one before it, and `log.verify_chain` verifies them for `nacre audit verify`.
"""
