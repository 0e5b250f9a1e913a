"""How close two memories are, by their vectors, and what becomes of a new scene.

Steps call `scene_decision` for a scene and `nearest` for its neighbours. Nothing here writes.
"""
