"""Endpoints that speak OpenAI's protocol: chat, answers in JSON, embeddings and transcription."""
