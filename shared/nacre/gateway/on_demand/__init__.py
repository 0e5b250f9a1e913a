"""Tools on demand: a short list from which a model finds, describes and calls hundreds of tools.

`surface.py` shortens the list and turns a call through it into the call of the tool itself, before
anything else looks at it. `search.py` finds tools; `index.py` and `ranking.py` are its parts.
"""
