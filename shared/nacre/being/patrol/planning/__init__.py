"""The questions that the patrol asks a language model, and the checked plans that come back.

`plans` declares what steps can ask. `model_choice` selects the key and the model, `planner` asks
the model, and `model_answers` keeps only what the question allows.
"""
