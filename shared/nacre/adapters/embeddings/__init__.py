"""Embedding models that run in this process: static tables and ONNX encoders.

`multilingual_encoder` and `english_encoder` run the encoders that ship with Nacre; their layers are
computed in `multilingual_layers` and `english_layers`, or in `english_session` by onnxruntime.
`onnx_embedder` runs an encoder from a folder that the user names.
"""
