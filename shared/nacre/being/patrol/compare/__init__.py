"""Distances between memories by their vectors, and the decision about a new scene.

Steps call `scene_decision` for a scene and `nearest` for its neighbours. Nothing here writes.
"""
