"""The pages of captured conversations: the list, and one conversation, each with removal."""
