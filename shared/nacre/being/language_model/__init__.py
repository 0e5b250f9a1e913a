"""The budget of a Being for language models, and its sealed API keys.

Orders and the patrol ask here before each question to a model.
"""
