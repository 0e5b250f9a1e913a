"""The pages of notes, diary, soul and the other targets, with their old versions."""
