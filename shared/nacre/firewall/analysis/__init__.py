"""Questions about a policy: explain, prove, lint, coverage, replay and fixtures.

The commands of `nacre policy` and the console call these modules. None of them enforces
anything.
"""
