"""Orders: the Being as one tool that takes a message and returns an answer.

`order_surface` shows the tool under the name that each Being chose. The call goes to `order`,
which asks a language model and calls the Being's tools with the caller's rights. The cost of
orders counts against the daily budget in `being.language_model.daily_budget`.
"""
