"""Embedding models that run in this process: static tables and ONNX encoders."""
