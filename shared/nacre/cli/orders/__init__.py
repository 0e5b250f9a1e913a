"""The commands about orders: `chat` and `sessions`."""
