"""The command `capture`: consent, pauses and exclusions of captured conversations."""
