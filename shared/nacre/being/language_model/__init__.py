"""What a Being may spend on language models, and the sealed API keys it uses.

Orders and the patrol ask here before each question to a model.
"""
