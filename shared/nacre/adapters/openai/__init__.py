"""Endpoints that speak OpenAI's protocol: chat, answers in JSON, embeddings and transcription.

`chat`, `model`, `embedder` and `transcriber` implement one port each. Their requests leave through
`endpoint_client`, and `faults` explains a failed one.
"""
