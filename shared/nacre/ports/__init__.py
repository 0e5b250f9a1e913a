"""What features need from the outside, one protocol per file."""
