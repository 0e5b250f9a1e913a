"""The pages that draw the causes of a memory, a scene or a recorded call."""
