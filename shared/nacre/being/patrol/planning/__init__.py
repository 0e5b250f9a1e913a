"""The questions that the patrol asks a language model, and the checked plans that come back.

Steps ask a planner, whose interface is in `plans`. `model_choice` selects the key and the model.
`planner` sends the instructions of `questions` with the data that `prompt_text` writes, and
`model_answers` keeps only what the question allows. `heard_facts` works without a model.
"""
