"""The page of tokens and connected clients."""
