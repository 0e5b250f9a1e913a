"""The policy editor: check, compare and put rules in force."""
