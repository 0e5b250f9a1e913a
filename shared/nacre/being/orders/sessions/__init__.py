"""Conversations that span several orders.

An order reads its session before it asks the model and adds a turn afterwards.
"""
