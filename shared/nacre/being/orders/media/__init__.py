"""Images, audio and documents in orders and in their answers.

`incoming` checks what a caller sent, `chat_parts` prepares it for the model, and `outgoing`
limits what an answer carries.
"""
