"""The parts of a memory: scenes, nodes, clusters, messages, and their keys, limits and counters.

Plain values and rules. Nothing here reads or writes a store.
"""
