"""Shared parts of the item stores: values, conditions, queries and writes."""
