"""The questions that the patrol asks a language model, and the checked plans it gets back.

Steps call the plans of `plans`. `model_choice` selects who answers, `planner` asks the model,
and `model_answers` keeps only what the question allows.
"""
