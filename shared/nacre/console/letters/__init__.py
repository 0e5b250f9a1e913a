"""The page of letters between the Beings of one owner."""
