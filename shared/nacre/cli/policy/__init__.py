"""The commands about policy: `policy`, `approvals`, `approve` and `audit`."""
