"""Embedding tables that ship with Nacre: data with licences, see NOTICE; no code."""
