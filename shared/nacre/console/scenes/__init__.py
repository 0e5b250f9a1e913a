"""The page of one scene."""
