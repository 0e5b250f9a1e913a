"""What a Being remembers: how it is kept, found and shown."""
